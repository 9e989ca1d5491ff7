from __future__ import annotations

import threading
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch

from inference.models.package import read_package
from inference.models.registry import load_model
from inference.models.torchscript import load_torchscript, refuse_graphs
from inference.models.wsinfer import MAX_UNPACKED
from inference.pipeline import run_shard
from tests.inference.cases import boxes, open_path, run_all, small_slide, whole_plan
from tests.inference.packages import Small, network, scripted, write_package
from wsi.errors import ModelError
from wsi.planning.plan import Numerics
from wsi.records.model_card import Resize
from wsi.slide.resample import resize_as_pillow

NUMERICS = Numerics(version="1", precision="fp32", batch=8, threads=1)


def loaded(folder, device="cpu"):
    return load_model(read_package(folder), folder, device)


def eager(pixels, module, mean=(0.7238, 0.5716, 0.6779), std=(0.112, 0.1459, 0.1089), side=64):
    planes = torch.from_numpy(resize_as_pillow(pixels, side, Resize.PILLOW_BILINEAR)).permute(0, 3, 1, 2) / 255
    normal = (planes - torch.tensor(mean).view(1, 3, 1, 1)) / torch.tensor(std).view(1, 3, 1, 1)
    with torch.inference_mode():
        logits = module(normal)
    return (torch.softmax(logits, 1) if logits.shape[1] > 1 else torch.sigmoid(logits)).numpy()


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (8, 256, 256, 3), np.uint8)


@pytest.mark.parametrize("classes", [1, 2, 6])
def test_a_package_equals_eager_torch(tmp_path, pixels, classes):
    names = [f"class {number}" for number in range(classes)]
    folder = write_package(tmp_path / "small", network(classes), num_classes=classes, class_names=names)
    scores = loaded(folder).infer(pixels, NUMERICS)
    assert scores.shape == (8, classes)
    np.testing.assert_allclose(scores, eager(pixels, network(classes)), atol=1e-6)


def test_the_first_call_gives_the_numbers_of_the_later_ones(tmp_path, pixels):
    model = loaded(write_package(tmp_path / "small"))
    calls = {model.infer(pixels, NUMERICS).tobytes() for _ in range(4)}
    assert len(calls) == 1


def test_a_rows_place_in_the_batch_changes_nothing(tmp_path, pixels):
    model = loaded(write_package(tmp_path / "small"))
    assert model.infer(pixels[::-1].copy(), NUMERICS)[::-1].tobytes() == model.infer(pixels, NUMERICS).tobytes()


def test_a_slide_through_the_pipeline_equals_eager_torch_for_any_shards(tmp_path):
    reader = open_path(small_slide(tmp_path))
    folder = write_package(tmp_path / "small")
    model = loaded(folder)
    plans = [whole_plan(reader, card=model.card, shard_tiles=shard_tiles) for shard_tiles in (None, 20, 7)]
    tables = [run_all(plan, reader, model=model).scores for plan in plans]
    np.testing.assert_allclose(tables[0], eager(boxes(plans[0], reader, fill=0), network()), atol=1e-6)
    assert tables[0].tobytes() == tables[1].tobytes() == tables[2].tobytes()


@pytest.mark.parametrize(("mpp_y", "size"), [(0.4, (320, 256)), (0.55, (233, 256))])
def test_boxes_that_are_not_square_are_resized_once_along_each_axis(tmp_path, mpp_y, size):
    reader = open_path(small_slide(tmp_path))
    model = loaded(write_package(tmp_path / "small"))
    plan = whole_plan(reader, card=model.card, shard_tiles=None, mpp_y=mpp_y)
    cut = boxes(plan, reader, fill=0)
    assert cut.shape[1:3] == size
    result = run_shard(plan, 0, reader, model, stop=threading.Event())
    np.testing.assert_allclose(result.scores, eager(cut, network()), atol=1e-6)


class SavesInside(torch.nn.Module):
    """Writes a file one call deeper, behind a branch that the first call does not take."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Small()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls > 100:
            write(x)
        return self.inner(x)


def write(x: torch.Tensor) -> None:
    torch.save(x, "written-by-the-model.pt")


class ReadsFile(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Small()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + torch.from_file("/etc/hostname", False, 1).sum()


class CallsPython(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return call_python(x)


@torch.jit.ignore
def call_python(x):
    return x


class SavesWhileLoading(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.zeros(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(dim=(2, 3))[:, :2] + self.weight

    @torch.jit.export
    def __getstate__(self) -> tuple[torch.Tensor, bool]:
        return self.weight, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, bool]) -> None:
        torch.save(state[0], "written-by-the-model.pt")
        self.weight = state[0]
        self.training = state[1]


@pytest.mark.parametrize("module", [SavesInside, SavesWhileLoading])
def test_a_network_that_writes_a_file_is_refused_before_it_can(tmp_path, monkeypatch, module):
    monkeypatch.chdir(tmp_path)
    folder = write_package(tmp_path / "evil", module().eval())
    with pytest.raises(ModelError, match="aten::save"):
        loaded(folder)
    assert not (tmp_path / "written-by-the-model.pt").exists()


@pytest.mark.parametrize(
    "written",
    [
        b"torch . save (",
        b"torch.save\n      (",
        b"ops.aten.save (",
        b"(torch.save)(",
        b'getattr(torch, "save")(',
        b'getattr(torch, "\\163ave")(',
        b'getattr((torch), "\\163ave")(',
        b'getattr(# a comment\n  torch, "\\163ave")(',
        b'getattr(ops.aten, "\\163ave")(',
        b'getattr(getattr(ops, "aten"), "\\163ave")(',
        b't = torch\n    getattr(t, "sa" "ve")(',
        # no string hides a call
        b"'\"' + torch.save(",
        b'""" " """; torch.save(',
        b'# "\n  torch.save(',
    ],
)
def test_a_network_whose_source_was_written_by_hand_is_refused_before_it_can(tmp_path, monkeypatch, written):
    monkeypatch.chdir(tmp_path)
    folder = write_package(tmp_path / "evil", SavesWhileLoading().eval())
    weights = folder / "torchscript_model.pt"
    with zipfile.ZipFile(weights) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(weights, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data.replace(b"torch.save(", written).replace(b"ops.aten.save(", written))
    with pytest.raises(ModelError, match="refused"):
        loaded(folder)
    assert not (tmp_path / "written-by-the-model.pt").exists()


def test_a_network_that_reads_a_file_is_refused(tmp_path):
    with pytest.raises(ModelError, match="aten::from_file"):
        loaded(write_package(tmp_path / "evil", ReadsFile().eval()))


@pytest.mark.parametrize(
    ("module", "operation"), [(SavesInside, "save"), (ReadsFile, "from_file"), (CallsPython, "PythonOp")]
)
def test_graphs_are_checked_with_their_functions_branches_and_submodules(module, operation):
    refuse_graphs(scripted(network()))
    with pytest.raises(ModelError, match=operation):
        refuse_graphs(scripted(torch.nn.Sequential(module())))


def test_a_network_whose_archive_names_a_file_twice_is_read_twice(tmp_path):
    folder = write_package(tmp_path / "evil", SavesWhileLoading().eval())
    honest = write_package(tmp_path / "small")
    with (
        zipfile.ZipFile(folder / "torchscript_model.pt") as evil,
        zipfile.ZipFile(honest / "torchscript_model.pt") as small,
    ):
        hidden = {name: evil.read(name) for name in evil.namelist() if name.endswith(".py")}
        rest = {name: small.read(name) for name in small.namelist()}
    name = next(name for name in rest if name.endswith(".py"))
    with zipfile.ZipFile(honest / "torchscript_model.pt", "w") as archive:
        archive.writestr(name, b"".join(hidden.values()))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(name, rest.pop(name))
        for member, data in rest.items():
            archive.writestr(member, data)
    with pytest.raises(ModelError, match="refused"):
        loaded(honest)


@pytest.mark.parametrize("at", [0.02, 0.3, 0.5, 0.65, 0.97, 0.99])
def test_a_damaged_archive_is_refused_and_not_run_with_other_weights(tmp_path, at):
    weights = write_package(tmp_path / "small") / "torchscript_model.pt"
    data = bytearray(weights.read_bytes())
    place = int(len(data) * at)
    while not any(data[place : place + 16]):  # padding between the members belongs to none of them
        place += 16
    data[place : place + 16] = bytes(byte ^ 0xA5 for byte in data[place : place + 16])
    weights.write_bytes(data)
    with pytest.raises(ModelError, match="damaged"):
        loaded(weights.parent)


class OneAnswer(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(1, 2)


class OneTile(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(dim=(2, 3)).reshape(1, 3)[:, :2]


class Complex(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        means = x.mean(dim=(2, 3))[:, :2]
        return torch.complex(means, means)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (OneAnswer, r"\[1, 2\] for 3 tiles"),
        (OneTile, r"broke off at 3 RGB tiles of 64 px.*shape '\[1, 3\]'"),
        (Complex, "complex numbers"),
    ],
)
def test_a_network_that_fits_no_batch_is_found_at_loading(tmp_path, module, words):
    with pytest.raises(ModelError, match=words):
        loaded(write_package(tmp_path / "small", module()))


def test_a_network_that_does_not_fit_its_card_is_found_at_loading(tmp_path):
    with pytest.raises(ModelError, match="3 values"):
        loaded(write_package(tmp_path / "three", network(3)))


def test_weights_that_are_no_archive_are_named(tmp_path):
    folder = write_package(tmp_path / "small")
    (folder / "torchscript_model.pt").write_bytes(b"weights")
    with pytest.raises(ModelError, match="archive"):
        loaded(folder)
    with pytest.raises(ModelError, match="kind"):
        load_model(replace(read_package(folder), kind="pickle"), folder, "cpu")


def test_devices_and_precisions_that_are_not_there_are_named(tmp_path, pixels):
    folder = write_package(tmp_path / "small")
    with pytest.raises(ModelError, match="device"):
        loaded(folder, "abacus")
    if not torch.cuda.is_available():
        with pytest.raises(ModelError, match="CUDA"):
            loaded(folder, "cuda")
    with pytest.raises(ModelError, match="fp16"):
        loaded(folder).infer(pixels, replace(NUMERICS, precision="fp16"))


#: Of few weights where a family has more than a test needs: what is refused are operators.
FAMILIES = {
    "resnet18": {},
    "VisionTransformer": {
        "image_size": 224,
        "patch_size": 16,
        "num_layers": 2,
        "num_heads": 4,
        "hidden_dim": 64,
        "mlp_dim": 128,
    },
    "swin_t": {},
    "mobilenet_v3_small": {},
}


@pytest.mark.parametrize("name", FAMILIES)
def test_networks_of_the_common_families_are_not_refused(tmp_path, name):
    torchvision = pytest.importorskip("torchvision")
    module = getattr(torchvision.models, name)(**FAMILIES[name]).eval()
    torch.nn.init.normal_(list(module.parameters())[-2])  # a head of zeros gives every tile the same
    folder = write_package(
        tmp_path / name,
        module,
        num_classes=1000,
        class_names=[f"c{number}" for number in range(1000)],
        transform=[{"name": "Resize", "arguments": {"size": 224}}, {"name": "ToTensor"}],
    )
    assert loaded(folder).card.input_px == 224


@pytest.mark.gpu
def test_cpu_and_cuda_agree(tmp_path, pixels):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    folder = write_package(tmp_path / "small")
    on_gpu = loaded(folder, "cuda").infer(pixels, NUMERICS)
    np.testing.assert_allclose(on_gpu, loaded(folder).infer(pixels, NUMERICS), atol=5e-3)


def test_an_archive_that_unpacks_to_more_than_weights_need_is_refused_before_it_is_read(tmp_path):
    folder = write_package(tmp_path)
    weights = folder / "torchscript_model.pt"
    with zipfile.ZipFile(weights, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("padding", "w") as padding:
        for _ in range(MAX_UNPACKED // 2**20 + 2):
            padding.write(bytes(2**20))
    assert weights.stat().st_size < 2**20
    with pytest.raises(ModelError, match=r"unpacks to 0\.1 GiB, and torch packs no weights"):
        load_torchscript(read_package(folder), folder, "cpu")


@pytest.mark.parametrize("what", ["state dict", "module"])
def test_what_torch_save_wrote_under_torchscripts_name_is_told(tmp_path, what):
    folder = write_package(tmp_path)
    module = torch.nn.Linear(2, 2)
    torch.save(module.state_dict() if what == "state dict" else module, folder / "torchscript_model.pt")
    with pytest.raises(ModelError, match=r"torchscript_model\.pt is a pickle of weights, as torch\.save writes it"):
        read_package(folder)


class Encoder(torch.nn.Module):
    """torch's own code holds messages that name its functions."""

    def __init__(self) -> None:
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 1)
        self.patches = torch.nn.Conv2d(3, 16, 16, stride=16)
        self.head = torch.nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


class Speaks(torch.nn.Module):
    """A message may say what code may not."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] != 3:
            raise ValueError('use torch.compile(model), torch.save(x) or ops.aten.from_file: it\'s "3" \\ channels')
        return x.mean(dim=(2, 3))[:, :2]


@pytest.mark.parametrize("module", [Encoder, Speaks])
def test_strings_of_a_network_are_no_code(tmp_path, module):
    assert loaded(write_package(tmp_path / "model", module().eval())).card
