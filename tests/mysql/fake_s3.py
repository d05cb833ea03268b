"""What the AWS CLI does with a bucket, in a folder: `fake_s3.py FOLDER s3api|s3 …`."""

import hashlib
import itertools
import sys
from pathlib import Path
from urllib.parse import quote, unquote

_LARGEST = 5 << 30


def path_of(folder: Path, name: str) -> Path:
    """The file of an object."""
    return folder / quote(name, safe="")


def objects(folder: Path) -> dict[str, int]:
    """Sizes by key."""
    return {unquote(path.name): path.stat().st_size for path in folder.iterdir() if not path.name.startswith(".")}


def _tag(path: Path) -> str:
    """Of small files; others' is never asked for."""
    return f'"{hashlib.md5(path.read_bytes()).hexdigest()}"' if path.stat().st_size < 1 << 20 else '"large"'


def _fail(code: str, verb: str) -> None:
    sys.exit(f"\nAn error occurred ({code}) when calling the {verb} operation: refused")


def _copy(source: Path, target: Path) -> None:
    """Sparse."""
    with source.open("rb") as read, target.with_name(".new").open("wb") as written:
        written.write(read.read(1 << 16))
        written.truncate(source.stat().st_size)
    target.with_name(".new").replace(target)


def _fault(folder: Path, verb: str) -> str:
    path = folder / f".fault-{verb}"
    return path.read_text() if path.exists() else ""


def _list(folder: Path, options: dict[str, str]) -> None:
    found = sorted((name, size) for name, size in objects(folder).items() if name.startswith(options["prefix"]))
    fails = _fault(folder, "list")
    # The pages that came before it are shown.
    for name, size in found[: len(found) // 2] if fails else found:
        print(f"{name}\t{size}")
    if fails:
        _fail(fails, "ListObjectsV2")
    if not found:
        print("None")


def _put(folder: Path, options: dict[str, str]) -> None:
    target, body = path_of(folder, options["key"]), Path(options["body"])
    fails = _fault(folder, "put-until" if options["key"].endswith("/until") else "put")
    if fails == "before":
        _fail("SlowDown", "PutObject")
    if body.stat().st_size > _LARGEST:
        _fail("EntityTooLarge", "PutObject")
    if (target.exists() and "if-none-match" in options) or (
        "if-match" in options and (not target.exists() or _tag(target) != options["if-match"])
    ):
        _fail("PreconditionFailed" if target.exists() else "NoSuchKey", "PutObject")
    _copy(body, target)
    if fails:
        # As where the answer is lost.
        _fail(fails, "PutObject")
    print(_tag(target))


def main(words: list[str]) -> None:
    folder, group, verb, *rest = Path(words[0]), *words[1:]
    options = {name.removeprefix("--"): value for name, value in itertools.pairwise(rest) if name[:2] == "--"}
    if group == "s3":
        source, target = rest[-2:]
        (folder / ".multipart").touch()
        _copy(Path(source), path_of(folder, target.partition("//")[2].partition("/")[2]))
    elif verb == "list-objects-v2":
        _list(folder, options)
    elif verb == "put-object":
        _put(folder, options)
    elif not (path := path_of(folder, options["key"])).exists():
        _fail("404" if verb == "head-object" else "NoSuchKey", verb)
    elif verb == "head-object":
        print(path.stat().st_size)
    else:
        _copy(path, Path(rest[-1]))
        print(_tag(path))


if __name__ == "__main__":
    main(sys.argv[1:])
