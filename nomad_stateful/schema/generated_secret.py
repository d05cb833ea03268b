"""The fields of GeneratedSecret."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import integer, mapping, text
from nomad_stateful.schema.properties import Integer, Properties, TextMap, computed

MIN_LENGTH = 8
MAX_LENGTH = 256


class GeneratedSecretProperties(Properties):
    """A random password, kept in the stack's encrypted state only."""

    length: Integer = integer(
        f"Number of characters, {MIN_LENGTH} to {MAX_LENGTH}.",
        default=32,
        replaces=True,
        rule=rules.whole_number(MIN_LENGTH, MAX_LENGTH, "32 is a good length"),
    )
    keepers: TextMap = mapping("Any values; when one changes, a new secret is generated.", replaces=True)
    result = computed(text("The secret: letters and digits, at least one of each kind.", secret=True))


GENERATED_SECRET = GeneratedSecretProperties.table
