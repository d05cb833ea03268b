"""What the AWS CLI does with a bucket, in a folder: `fake_s3.py FOLDER s3api|s3 …`."""

import hashlib
import itertools
import json
import sys
from pathlib import Path
from urllib.parse import quote, unquote

LARGEST = 1 << 20
"""What one request may bring: 5 GiB in S3."""


def path_of(folder: Path, name: str) -> Path:
    """The file of an object."""
    return folder / quote(name, safe="")


def objects(folder: Path) -> dict[str, int]:
    """Sizes by key."""
    return {unquote(path.name): path.stat().st_size for path in folder.iterdir() if not path.name.startswith(".")}


def _tag(path: Path) -> str:
    return f'"{hashlib.md5(path.read_bytes()).hexdigest()}"'


def _fail(code: str, verb: str) -> None:
    sys.exit(f"\nAn error occurred ({code}) when calling the {verb} operation: refused")


def _copy(source: Path, target: Path) -> None:
    target.with_name(".new").write_bytes(source.read_bytes())
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
    if body.stat().st_size > LARGEST:
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


def _uploads(folder: Path, verb: str, options: dict[str, str]) -> None:
    """An upload in parts, each in a file until it ends."""
    parts = folder / f".upload-{options.get('upload-id', 'one')}"
    if verb == "create-multipart-upload":
        parts.mkdir()
        print(parts.name.removeprefix(".upload-"))
    elif not parts.is_dir():
        _fail("NoSuchUpload", verb)
    elif verb == "upload-part":
        part = parts / options["part-number"]
        part.write_bytes(Path(options["body"]).read_bytes())
        if fails := _fault(folder, "part"):
            _fail(fails, "UploadPart")
        print(f"{_tag(part)}\tsum-{options['part-number']}")
    elif verb == "complete-multipart-upload":
        _complete(folder, parts, options)
    else:
        for part in parts.iterdir():
            part.unlink()
        parts.rmdir()


def _complete(folder: Path, parts: Path, options: dict[str, str]) -> None:
    listed = json.loads(Path(options["multipart-upload"].removeprefix("file://")).read_text())["Parts"]
    for number, one in enumerate(listed, 1):
        part = parts / str(one["PartNumber"])
        if [one["PartNumber"], f'"{one["ETag"]}"', one["ChecksumSHA256"]] != [number, _tag(part), f"sum-{number}"]:
            _fail("InvalidPart", "CompleteMultipartUpload")
    target = path_of(folder, options["key"])
    if target.exists() and "if-none-match" in options:
        _fail("PreconditionFailed", "CompleteMultipartUpload")
    target.write_bytes(b"".join((parts / str(one["PartNumber"])).read_bytes() for one in listed))
    _uploads(folder, "abort-multipart-upload", options)


def main(words: list[str]) -> None:
    folder, group, verb, *rest = Path(words[0]), *words[1:]
    options = {name.removeprefix("--"): value for name, value in itertools.pairwise(rest) if name[:2] == "--"}
    with (folder / ".calls").open("a") as calls:
        calls.write(json.dumps([group, verb, options]) + "\n")
    if group == "s3":
        # Only as `cp s3://BUCKET/KEY -`.
        name = rest[-2].partition("//")[2].partition("/")[2]
        sys.stdout.buffer.write(path_of(folder, name).read_bytes())
    elif verb == "list-objects-v2":
        _list(folder, options)
    elif verb == "put-object":
        _put(folder, options)
    elif "upload" in verb:
        _uploads(folder, verb, options)
    elif not (path := path_of(folder, options["key"])).exists():
        _fail("404" if verb == "head-object" else "NoSuchKey", verb)
    elif verb == "head-object":
        print(path.stat().st_size)
    else:
        _copy(path, Path(rest[-1]))
        print(_tag(path))


if __name__ == "__main__":
    main(sys.argv[1:])
