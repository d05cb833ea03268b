"""A second namespace of Nomad, in which the stack's tokens may do what they may do in the default one."""

from typing import Final

from nomad_stateful.nomad.api import NomadApi
from tools.trial.running import Running

_DEFAULT: Final = 'namespace "default"'


def management(stack: Running) -> NomadApi:
    """The sandbox's Nomad, asked with the token that may do everything."""
    return NomadApi.from_env({"token": stack.management_token}, stack.env)


def allow(stack: Running, namespace: str) -> None:
    """Makes it, and writes it into the policies: in Nomad, and in the files of which `up` makes them anew."""
    api = management(stack)
    api.put("namespace", {"Name": namespace})
    for folder, name in (("program", "nomad-stateful"), ("operate", "nomad-stateful-operator")):
        file = stack.project / f"nomad_stateful/{folder}/nomad-policy.hcl"
        rules = with_namespace(file.read_text(), namespace)
        file.write_text(rules)
        api.put(f"acl/policy/{name}", {"Name": name, "Rules": rules})
    api.close()


def with_namespace(rules: str, namespace: str) -> str:
    """Rules that allow in the namespace what they allow in the default one; the same ones where they do already."""
    if f'namespace "{namespace}"' in rules:
        return rules
    own = rules.split(_DEFAULT, 1)[1].split("\n}\n", 1)[0]
    return f'{rules}\nnamespace "{namespace}"{own}\n}}\n'
