"""A template in an option's value is left to Nomad; what the server's reader makes of values is in tests/mysql/."""

from nomad_stateful.databases.catalogue import DATABASES

OPTIONS = DATABASES["mysql"].options


def test_a_template_in_a_value_stays_one() -> None:
    assert OPTIONS.text('{{ env "X" }}') == '"{{ env "X" }}"'
    assert OPTIONS.text('a "b" {{ key "c" }}\\') == '"a \\"b\\" {{ key "c" }}\\\\"'
    assert OPTIONS.text("{{ .size }}") == "{{ .size }}"
