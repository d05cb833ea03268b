"""Which programs the toolchain consists of, in which versions, and how each is built."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tools.toolchain.cache import digest
from tools.toolchain.versions import Version, VersionRange

PINS: Final = Path(__file__).resolve().parent
"""Where the committed go.mod and go.sum files are."""

MINIMUM_GO: Final = Version(1, 25, 8)
"""The newest `go` line of the committed go.mod files."""

_OWN: Final = {"judge": PINS.parent / "judge"}
"""Where the code and the pins of the project's own Go programs are."""

_RECIPE: Final = "1"
"""Raise it when the way of building changes, so that what was built before is not used."""

_PULUMI_SDK: Final = "github.com/pulumi/pulumi/sdk/v3"
_PULUMI_CLI: Final = "github.com/pulumi/pulumi/pkg/v3"


def sources(pins: str) -> list[Path]:
    """The files that the go command builds from: go.mod and go.sum, and the code of a program of the project's own."""
    folder = _OWN.get(pins, PINS / pins)
    code = [path for path in sorted(folder.glob("*.go")) if not path.name.endswith("_test.go")]
    return [folder / "go.mod", folder / "go.sum", *code]


@dataclass(frozen=True)
class GoProgram:
    """A main package out of a pinned module, or the one beside its pins."""

    name: str
    pins: str
    package: str
    expected_s: int
    variables: tuple[tuple[str, str], ...] = ()
    needs_c_compiler: bool = False


@dataclass(frozen=True)
class ModuleFile:
    """A script that is taken as it is from a module that `pins` fixes."""

    pins: str
    module: str
    path: str


@dataclass(frozen=True)
class Component:
    """A program with what has to lie beside it."""

    name: str
    version: str
    suitable: VersionRange
    programs: tuple[GoProgram, ...]
    """What it is built from; without any it is only downloaded."""
    scripts: tuple[ModuleFile, ...] = ()
    companions: tuple[str, ...] = ()
    """Programs that one on PATH, or of an archive, must bring along to be of use."""
    download_version: str = ""
    """The version whose archive is pinned, where it is not the one that is built."""

    @property
    def files(self) -> frozenset[str]:
        """The names of everything that is kept of it."""
        return frozenset({self.name, *self.companions, *(Path(script.path).name for script in self.scripts)})

    def key(self) -> str:
        """The name of its folder in the cache: changes with the pins, the recipe and the kind of machine."""
        folders = dict.fromkeys([program.pins for program in self.programs] + [script.pins for script in self.scripts])
        pins = [path.read_bytes() for folder in folders for path in sources(folder)]
        return digest(_RECIPE, self.name, self.version, platform.system(), platform.machine(), *pins)


PULUMI: Final = Component(
    name="pulumi",
    version="3.200.0",
    download_version="3.221.0",
    suitable=VersionRange(Version(3, 200), Version(4, 0)),
    programs=(
        GoProgram(
            name="pulumi",
            pins="pulumi",
            package=f"{_PULUMI_CLI}/cmd/pulumi",
            expected_s=130,
            variables=(
                (f"{_PULUMI_SDK}/go/common/version.Version", "v3.200.0"),
                (f"{_PULUMI_CLI}/version.Version", "v3.200.0"),
            ),
        ),
        # Later versions of the language host live in a module that is not published on its own.
        GoProgram(
            name="pulumi-language-python",
            pins="language-python",
            package=f"{_PULUMI_SDK}/python/cmd/pulumi-language-python",
            expected_s=20,
            variables=((f"{_PULUMI_SDK}/go/common/version.Version", "v3.78.0"),),
        ),
    ),
    scripts=(
        ModuleFile("pulumi", _PULUMI_SDK, "python/cmd/pulumi-language-python-exec"),
        ModuleFile("pulumi", _PULUMI_SDK, "python/dist/pulumi-resource-pulumi-python"),
        ModuleFile("pulumi", _PULUMI_SDK, "python/dist/pulumi-analyzer-policy-python"),
    ),
    companions=("pulumi-language-python",),
)

NOMAD: Final = Component(
    name="nomad",
    version="1.11.3",
    suitable=VersionRange(Version(1, 11, 2), Version(3, 0)),
    # Without C, the container library that the exec driver starts tasks with is an empty shell.
    programs=(GoProgram("nomad", "nomad", "github.com/hashicorp/nomad", expected_s=220, needs_c_compiler=True),),
    # Later versions are in no Go module that is published.
    download_version="2.0.5",
)

NOMAD_1_11: Final = replace(NOMAD, download_version="")
"""The last of the community's 1.11, when it is asked for by name."""

NOMAD_FLOOR: Final = Component(
    name="nomad",
    version="1.11.2",
    suitable=NOMAD.suitable,
    programs=(GoProgram("nomad", "nomad-1.11.2", "github.com/hashicorp/nomad", expected_s=220, needs_c_compiler=True),),
)
"""The oldest that the program accepts: built when it is asked for by name."""

NOMAD_2: Final = Component(name="nomad", version="2.0.5", suitable=NOMAD.suitable, programs=())
"""Downloaded when it is asked for by name: nothing here fixes what it would be built from."""

NOMADS: Final = {component.version: component for component in (NOMAD_FLOOR, NOMAD_1_11, NOMAD_2)}

CSI_SANITY: Final = Component(
    name="csi-sanity",
    version="5.3.1",
    suitable=VersionRange(Version(5, 3), Version(6, 0)),
    programs=(GoProgram("csi-sanity", "csi", "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity", expected_s=30),),
)

ACTIONLINT: Final = Component(
    name="actionlint",
    version="1.7.12",
    suitable=VersionRange(Version(1, 7), Version(2, 0)),
    programs=(GoProgram("actionlint", "actionlint", "github.com/rhysd/actionlint/cmd/actionlint", expected_s=15),),
)

JUDGE: Final = Component(
    name="judge",
    version="1.0.0",
    suitable=VersionRange(Version(1, 0), Version(2, 0)),
    programs=(GoProgram("judge", "judge", ".", expected_s=10),),
)
"""The judge of histories, whose code is in the project: tools/judge/."""

RELEASE_SUMS: Final = {
    "nomad_1.11.3_linux_amd64.zip": "19dac5642a2ba5305e6ff8efee06a708d760ebe4d1cd7936bc3dc526f477dc12",
    "nomad_1.11.3_linux_arm64.zip": "902e44260fcd9297af7042fb33ccd5a29cc2202b57199724f17c96fcd67414d2",
    "nomad_2.0.5_linux_amd64.zip": "6425e43967bb0b2b4979b0d06da9b06772848b658dae372f1256d51ddcfe53c3",
    "nomad_2.0.5_linux_arm64.zip": "63186442061f3f86ec7d10615a91435779a84ed2bf6111bfcba3c0acf71dabb7",
    "pulumi-v3.221.0-linux-x64.tar.gz": "fe736f91b4153f94f859870e34dda01e648552c25f702c8a42282acf3a5db9ad",
    "pulumi-v3.221.0-linux-arm64.tar.gz": "baaf077a8b851da4fd1f6434860b56fec43f877709fe5a22ed3bbd335af57a37",
}
"""SHA-256 of the publishers' archives; one that is not here is never downloaded, but built from what go.sum fixes."""

CSI_SPEC_MODULE: Final = "github.com/container-storage-interface/spec"
CSI_SPEC_PINS: Final = "csi"
