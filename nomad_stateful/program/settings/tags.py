"""Tags as EC2 takes them.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions
"""

from collections.abc import Collection, Mapping

from nomad_stateful.program.settings.errors import Refusal

MOST = 40
"""EC2 takes 50; the others are left to the program, the driver and the aws provider's default tags."""
_LONGEST_KEY, _LONGEST_VALUE = 128, 256


def check(
    setting: str, tags: Mapping[str, str], reserved: Collection[str] = (), prefixes: tuple[str, ...] = ()
) -> None:
    """Raises Refusal for tags that EC2 refuses, or that would be overwritten."""
    if len(tags) > MOST:
        rule = f"at most {MOST}: EC2 takes 50, some of which the program, the driver and aws:defaultTags need"
        raise Refusal(setting, f"{len(tags)} tags", rule, "remove some")
    for key, value in tags.items():
        if not key:
            raise Refusal(setting, "an empty key", "EC2 takes no tag without a key", "name it")
        if key in reserved or key.lower().startswith(("aws:", *prefixes)):
            rule = "this key is reserved by the program, the driver or AWS"
            raise Refusal(f"{setting}.{key}", value, rule, "use another key")
        if len(key) > _LONGEST_KEY or len(value) > _LONGEST_VALUE:
            rule = f"a tag has at most {_LONGEST_KEY} characters, its value {_LONGEST_VALUE}"
            raise Refusal(f"{setting}.{key}", value, rule, "shorten it")
