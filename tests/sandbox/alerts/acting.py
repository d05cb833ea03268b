"""What causes and cures are made of: commands of the operator, and hands inside an instance."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.sandbox.alerts.prometheus import Watch
from tests.sandbox.consuming import newest_child
from tools.trial.running import Running, eventually

FILLER = "filler"
MIB = 1 << 20


def run(watch: Watch, *words: str, status: int = 0, timeout_s: float = 600) -> str:
    """Runs a command as the operator; returns its output."""
    stack = watch.stack
    token = stack.env.get("NOMAD_OPERATOR_TOKEN") or stack.env["NOMAD_TOKEN"]
    done = stack.run(*words, timeout_s=timeout_s, more_env={"NOMAD_TOKEN": token})
    assert done.returncode == status, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def operate(watch: Watch, *words: str, status: int = 0) -> str:
    """`nomad-stateful …`."""
    return run(watch, watch.stack.python, "-m", "nomad_stateful.operate", *words, status=status)


def up(watch: Watch) -> str:
    """`pulumi up --refresh`."""
    return run(watch, "pulumi", "up", "--refresh", "--yes", "--skip-preview", "--non-interactive")


def ctl(watch: Watch, *words: str) -> str:
    """`python -m sandbox ctl …`."""
    return run(watch, watch.stack.python, "-m", "sandbox", "ctl", *words)


def client_at(stack: Running, address: str) -> str:
    """Returns the name of the client with an address."""
    stubs = stack.nomad.get("nodes")
    return next(str(one["Name"]) for one in stubs if one["Address"] == address)


def place(watch: Watch, volume: str) -> tuple[str, str]:
    """Returns the client and the path where a volume is staged, as node_exporter shows them."""

    def probe() -> tuple[str, str] | None:
        found = watch.prometheus.query(f'node_filesystem_size_bytes{{mountpoint=~".*/staging/[^/]+/{volume}/.*"}}')
        labels = [one["metric"] for one in found]
        return (client_at(watch.stack, labels[0]["instance"]), labels[0]["mountpoint"]) if len(labels) == 1 else None

    return eventually(probe, 60, f"a mount of {volume} in Prometheus")


def inside(watch: Watch, client: str, script: str) -> None:
    """Runs a script in an instance, as root."""
    ctl(watch, "enter", client, "sh", "-ec", script)


def fill(watch: Watch, volume: str, percent: int) -> None:
    """Fills a volume until so much is used."""
    client, path = place(watch, volume)
    # As node_exporter counts: what only root may use is used.
    inside(
        watch,
        client,
        f"set -- $(stat -f -c '%b %a %S' {path}); mkdir -p {path}/{FILLER};"
        f"fallocate -l $(( ($1 * {percent} / 100 - ($1 - $2)) * $3 )) {path}/{FILLER}/much",
    )


def use_inodes(watch: Watch, volume: str, percent: int) -> None:
    """Makes empty files until so many inodes are used."""
    client, path = place(watch, volume)
    inside(
        watch,
        client,
        f"set -- $(stat -f -c '%c %d' {path}); mkdir -p {path}/{FILLER}; cd {path}/{FILLER};"
        f"seq $(( $1 * {percent} / 100 - ($1 - $2) )) | xargs touch",
    )


def free(watch: Watch, volume: str) -> None:
    """Removes what filled it."""
    client, path = place(watch, volume)
    inside(watch, client, f"rm -rf {path}/{FILLER}")


@contextmanager
def growing(watch: Watch, volume: str, mib_per_s: int, percent: int) -> Iterator[None]:
    """While a volume that is half full grows, up to so much; then the writer ends and what it wrote is removed."""
    fill(watch, volume, 55)
    client, path = place(watch, volume)
    script = (
        f"while [ -e {path}/{FILLER}/much ] && set -- $(stat -f -c '%b %a' {path}); do"
        f" [ $(( ($1 - $2) * 100 / $1 )) -ge {percent} ] ||"
        f" head -c {mib_per_s * MIB} /dev/zero >>{path}/{FILLER}/more; sleep 1; done"
    )
    words = [watch.stack.python, "-m", "sandbox", "ctl", "enter", client, "sh", "-ec", script]
    with subprocess.Popen(words, env=watch.stack.env, cwd=watch.stack.project) as writer:
        try:
            yield
        finally:
            inside(watch, client, f"rm {path}/{FILLER}/much")
            writer.wait(60)
            free(watch, volume)


def set_size(watch: Watch, volume: str, gib: int) -> None:
    """`volumes[].sizeGib` in the stack's settings."""
    file = Path(watch.stack.project) / "Pulumi.dev.yaml"
    whole = yaml.safe_load(file.read_text(encoding="utf-8"))
    (own,) = [one for one in whole["config"]["nomad-stateful:volumes"] if one["name"] == volume]
    own["sizeGib"] = gib
    file.write_text(yaml.safe_dump(whole), encoding="utf-8")


def allocation(watch: Watch, job: str, client: str = "") -> dict[str, Any]:
    """Returns the running allocation of a job, on a client where one is given."""

    def probe() -> dict[str, Any] | None:
        found = watch.stack.nomad.get(f"job/{job}/allocations") or []
        own = (one for one in found if one["ClientStatus"] == "running" and client in ("", one["NodeName"]))
        return next(own, None)

    return eventually(probe, 60, f"an allocation of {job}")


def hang(watch: Watch, mode: str, client: str) -> None:
    """Stops the process of a plugin, as if it hung."""
    inside(watch, client, f"kill -STOP $(pgrep -f '[e]bs_csi_driver {mode} --endpoint')")


def instance(watch: Watch, client: str) -> str:
    """Returns the id of a client's instance."""
    found = watch.stack.ec2.describe_instances()["Reservations"]
    known = [one for reservation in found for one in reservation["Instances"]]
    address = next(str(one["Address"]) for one in watch.stack.nomad.get("nodes") if one["Name"] == client)
    return next(str(one["InstanceId"]) for one in known if one.get("PrivateIpAddress") == address)


def start(watch: Watch, instance_id: str) -> None:
    """Starts an instance that was stopped, once it has."""
    ec2 = watch.stack.ec2

    def stopped() -> bool | None:
        found = ec2.describe_instances(InstanceIds=[instance_id])["Reservations"][0]["Instances"][0]
        return found["State"]["Name"] == "stopped" or None

    eventually(stopped, 120, f"{instance_id} is stopped")
    ec2.start_instances(InstanceIds=[instance_id])


def sql(watch: Watch, statement: str) -> None:
    """Runs a statement as root."""
    watch.stack.sql(watch.stack.server_endpoint(), statement)


def drill(watch: Watch, max_age: str, status: int = 0) -> None:
    """A drill, as a timer runs it."""
    file = watch.textfiles / "drill.prom"
    operate(watch, "drill", "mysql", "--yes", "--max-age", max_age, "--metrics", str(file), status=status)


def dump(watch: Watch) -> str:
    """`nomad job periodic force mysql-backup`; returns the run's id."""
    run(watch, "nomad", "job", "periodic", "force", "-detach", "mysql-backup")
    jobs = watch.stack.nomad.get("jobs", prefix="mysql-backup/")
    return str(
        max((one for one in jobs if one.get("ParentID") == "mysql-backup"), key=lambda one: one["SubmitTime"])["ID"]
    )


def dump_whole(watch: Watch) -> None:
    """A dump that succeeds."""
    run_id = dump(watch)
    done = eventually(lambda: newest_child(watch.stack, "mysql-backup"), 240, "the dump's end")
    assert done["ID"] == run_id
