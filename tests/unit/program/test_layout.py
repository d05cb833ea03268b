"""Who may import whom."""

import ast
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
PACKAGES = {path.parent.name for path in TOP.glob("*/__init__.py")} | {path.stem for path in TOP.glob("*.py")}
ALLOWED = {
    "program": {"program", "components", "nomad_stateful"},
    "program/wiring": {"program.wiring", "program.environment", "program.settings", "components", "nomad_stateful"},
    "program/settings": {"program.settings", "nomad_stateful.drivers"},
    "nomad_stateful": {"nomad_stateful"},
    "tools/preview_report": {"tools.preview_report"},
    "components": {"nomad_stateful", "components.package"},
    "policy": {"policy"},
    "operate": {"operate", "nomad_stateful"},
    "sandbox": {"sandbox", "nomad_stateful", "operate", "tools"},
}


def imports(path: Path) -> set[str]:
    """The project's own modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
    return {name for name in found if name.split(".")[0] in PACKAGES}


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    allowed = tuple(ALLOWED[package])
    wrong = [
        f"{path.relative_to(TOP)} imports {name}"
        for path in sorted((TOP / package).rglob("*.py"))
        for name in sorted(imports(path))
        if not any(name == prefix or name.startswith(f"{prefix}.") for prefix in allowed)
    ]
    assert wrong == []


def test_nothing_outside_the_sandbox_knows_of_it() -> None:
    program = [TOP / "__main__.py", *TOP.glob("program/**/*.py")]
    assert [path.name for path in program if any(name.startswith("sandbox") for name in imports(path))] == []
