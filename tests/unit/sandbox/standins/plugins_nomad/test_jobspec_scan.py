"""What is told of a jobspec's text."""

from __future__ import annotations

import pytest

from sandbox.standins.plugins.nomad.jobspec_scan import called_functions, code_only, declared_variables


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('a = file("x")', {"file"}),
        ('a = "file(x)"', set()),
        ('a = "${file("x")}"', {"file"}),
        ('a = "$${file("', set()),
        ('a = "%{ if exists("x") }y%{ endif }"', {"exists"}),
        ("# file(x)\na = 1 // file(y)\n/* file(z)\nfile(z) */", set()),
        ("a = <<EOT\nfile(x) ${lower(var.y)}\nEOT\nb = upper(c)", {"lower", "upper"}),
        ("a = <<-EOT\n  EOT2\n  file(x)\n  EOT\nb = upper(c)", {"upper"}),
        (r'a = "\"${one("}")} \\" b = two(1)', {"one", "two"}),
        ('a = "${ { k = one("${two(3)}") }.k } three(4)"', {"one", "two"}),
        ("a = module.file (x)", set()),
    ],
)
def test_only_calls_in_code_count(text: str, calls: set[str]) -> None:
    assert called_functions(text) == calls


def test_blanking_keeps_every_position() -> None:
    text = 'a = "x${b}y" # c\nd = <<E\nq\nE\n'
    assert len(code_only(text)) == len(text)
    assert code_only(text).startswith('a = " ')
    assert "c" not in code_only(text)


def test_variables_are_declared_by_blocks_outside_comments_and_strings() -> None:
    text = """
    variable "one" {}
    variable two { default = { three = 1 } }
    # variable "four" {}
    a = "variable \\"five\\" {"
    variables {
      six   = 1
      seven = { eight = 2 }
    }
    """
    assert declared_variables(text) == {"one", "two", "six", "seven"}


def test_text_that_ends_inside_a_literal_is_read_to_its_end() -> None:
    assert called_functions('a = "open ${lower(b') == {"lower"}
    assert called_functions("/* open") == set()
