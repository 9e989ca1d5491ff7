"""Weights in the layouts in which people publish them become packages that give the scores of the network itself."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import load_file, save_file

from inference.models.execution.scoring import score_tiles
from inference.models.making.packaging import MissingFacts, Stated, make_package
from inference.models.making.pickles import read_pickle
from inference.models.making.reading import find_weights, read_weights
from inference.models.registry import load_model
from tests.inference.onnx_packages import graph
from tests.inference.packages import network, scripted
from tests.inference.packages_with_card import plain, seeded, tiles
from wsi.errors import ModelError
from wsi.records.model_card import Activation, OutputKind

CLASSES = ("Other", "Stroma", "Tumor")
STATED: dict[str, Any] = {
    "mpp": 0.5,
    "classes": CLASSES,
    "activation": Activation.SOFTMAX,
    "mean": (0.5, 0.5, 0.5),
    "std": (0.25, 0.25, 0.25),
}
SIDE = 32


@pytest.fixture(scope="module")
def vit() -> torch.nn.Module:
    with seeded():
        return timm.create_model("test_vit", num_classes=3, img_size=SIDE).eval()


State = dict[str, torch.Tensor]


def state(module: torch.nn.Module) -> State:
    return {name: value.clone() for name, value in module.state_dict().items()}


def prefixed(beginning: str, tensors: State) -> State:
    return {f"{beginning}{name}": value for name, value in tensors.items()}


class Unknown:
    """A class that only its author has."""

    def __init__(self) -> None:
        self.secret = 1


def lightning(path: Path, tensors: State) -> None:
    """As pytorch_lightning 2 writes them: hyper-parameters, counters and the loss are there as well."""
    torch.save(
        {
            "epoch": 7,
            "pytorch-lightning_version": "2.4.0",
            "state_dict": {
                **prefixed("model.", tensors),
                "criterion.weight": torch.ones(3),
                "val_auc.value": torch.ones(1),
            },
            "optimizer_states": [{"state": {0: {"momentum_buffer": torch.ones(2)}}}],
            "hyper_parameters": Namespace(lr=1e-3, model=Unknown()),
        },
        path,
    )


def dino(path: Path, tensors: State) -> None:
    """As Meta's DINO and DINOv2 write them."""
    teacher = {**prefixed("backbone.", tensors), "dino_head.mlp.0.weight": torch.ones(4, 4)}
    torch.save({"teacher": teacher, "student": prefixed("module.backbone.", tensors), "args": Namespace(x=1)}, path)


def sharded(folder: Path, tensors: State, suffix: str) -> None:
    """As Hugging Face splits weights of many gigabytes."""
    names = sorted(tensors)
    half = len(names) // 2
    stem = "model" if suffix == "safetensors" else "pytorch_model"
    listed: dict[str, str] = {}
    for number, part in enumerate((names[:half], names[half:]), 1):
        name = f"{stem}-0000{number}-of-00002.{suffix}"
        held = {key: tensors[key] for key in part}
        save_file(held, folder / name) if suffix == "safetensors" else torch.save(held, folder / name)
        listed |= dict.fromkeys(part, name)
    (folder / f"{stem}.{suffix}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": listed}))


def exported(path: Path, module: torch.nn.Module) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(module, (torch.rand(2, 3, SIDE, SIDE),)), path)


Writer = Callable[[Path, torch.nn.Module], Path]


def _file(name: str, write: Callable[[Path, State], object]) -> Writer:
    def written(folder: Path, module: torch.nn.Module) -> Path:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, state(module))
        return folder / name

    return written


def _folder(write: Callable[[Path, State], object]) -> Writer:
    def written(folder: Path, module: torch.nn.Module) -> Path:
        write(folder, state(module))
        return folder

    return written


def _save(path: Path, value: Any) -> None:
    torch.save(value, path)


LAYOUTS: dict[str, Writer] = {
    "a state dict": _file("weights.pth", _save),
    "a state dict of the old format": _file(
        "weights.pth", lambda path, held: torch.save(held, path, _use_new_zipfile_serialization=False)
    ),
    "of DataParallel": _file("weights.pt", lambda path, held: _save(path, prefixed("module.", held))),
    "of torch.compile in DataParallel": _file(
        "weights.pth", lambda path, held: _save(path, {"model": prefixed("module._orig_mod.", held), "epoch": 3})
    ),
    "of a training script": _file(
        "best.pth.tar".replace(".tar", ""),
        lambda path, held: _save(path, {"epoch": 3, "model_state_dict": held, "optimizer": {"lr": 0.1}, "best": 0.9}),
    ),
    "Lightning with Namespace": _file("epoch=7.ckpt", lightning),
    "a teacher of DINO": _file("checkpoint.pth", dino),
    "safetensors": _file("weights.safetensors", lambda path, held: save_file(held, path)),
    "in 16 bits": _file(
        "weights.safetensors",
        lambda path, held: save_file({name: value.to(torch.bfloat16) for name, value in held.items()}, path),
    ),
    "a folder of Hugging Face": _folder(lambda folder, held: _save(folder / "pytorch_model.bin", held)),
    "sharded safetensors": _folder(lambda folder, held: sharded(folder, held, "safetensors")),
    "sharded pickles": _folder(lambda folder, held: sharded(folder, held, "bin")),
    "a MONAI bundle": _file("models/model.pt", _save),
    "a whole module": lambda folder, module: (torch.save(module, folder / "model.pth"), folder / "model.pth")[1],
    "torch.export": lambda folder, module: (exported(folder / "model.pt2", module), folder / "model.pt2")[1],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_weights_of_any_layout_give_the_scores_of_the_network(tmp_path: Path, vit: torch.nn.Module, name: str) -> None:
    (tmp_path / "published").mkdir()
    source = LAYOUTS[name](tmp_path / "published", vit)
    made = make_package(source, tmp_path / "made", Stated(**STATED, architecture="timm/test_vit"))
    assert [column.name for column in made.card.columns] == ["prob_Other", "prob_Stroma", "prob_Tumor"]
    assert (made.card.input_px, made.card.tile_px, made.card.mpp) == (SIDE, SIDE, 0.5)
    pixels = tiles(6, SIDE)
    scores = score_tiles(load_model(made.card, tmp_path / "made", "cpu"), pixels)
    np.testing.assert_allclose(scores, plain(made.card, vit, pixels), atol=2e-3 if "16 bits" in name else 1e-6)


def test_what_belongs_to_training_is_left_out_and_told(tmp_path: Path, vit: torch.nn.Module) -> None:
    lightning(tmp_path / "a.ckpt", state(vit))
    made = make_package(tmp_path / "a.ckpt", tmp_path / "made", Stated(**STATED, architecture="timm/test_vit"))
    told = " ".join(made.notes)
    assert "The weights are those under state_dict." in told
    assert 'Names of tensors began with "model.", which is left away.' in told
    assert "2 tensors are no part of this network and are left out: criterion.weight, val_auc.value." in told
    assert set(load_file(tmp_path / "made/model.safetensors")) == set(vit.state_dict())


def make_a_folder() -> None:
    Path("made-by-the-pickle").mkdir()


class Own:
    """Calls a function of its author's."""

    def __reduce__(self) -> tuple[Any, ...]:
        return make_a_folder, ()


class Hostile:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("made-by-the-pickle",)


class HostileMethod:
    """What is called is made by a call itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (Path("made-by-the-pickle"),)


def test_no_code_of_a_pickle_is_run(tmp_path: Path, vit: torch.nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"state_dict": state(vit), "callbacks": Own()}, tmp_path / "a.ckpt")
    assert set(read_weights(tmp_path / "a.ckpt").tensors) == set(vit.state_dict())
    torch.save({"state_dict": state(vit), "callbacks": Hostile()}, "b.ckpt")
    torch.save({"state_dict": state(vit), "callbacks": HostileMethod()}, "c.ckpt")
    torch.save({"state_dict": state(vit), "callbacks": Own()}, "old.ckpt", _use_new_zipfile_serialization=False)
    for name in ("b.ckpt", "c.ckpt", "old.ckpt"):
        with pytest.raises(ModelError, match=r"cannot be read without running code from it: .* Save the weights alone"):
            read_pickle(tmp_path / name)
    assert not (tmp_path / "made-by-the-pickle").exists()


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """The archive with other members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_no_pickle_of_an_exported_network_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.pt2"
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).eval()
    exported(path, module)
    evil = io.BytesIO()
    torch.save({"x": Own()}, evil)

    def poison(members: dict[str, bytes]) -> None:
        for name in members:
            if name.endswith("sample_inputs/model.pt"):
                members[name] = evil.getvalue()

    def mark(members: dict[str, bytes]) -> None:
        name = next(name for name in members if name.endswith("model_weights_config.json"))
        members[name] = members[name].replace(b'"use_pickle": false', b'"use_pickle": true')

    before = read_weights(path).tensors
    assert {name: value.shape for name, value in before.items()} == {
        name: value.shape for name, value in module.state_dict().items()
    }
    np.testing.assert_array_equal(before["0.weight"], module.state_dict()["0.weight"])
    rewritten(path, poison)
    assert read_weights(path).tensors.keys() == before.keys()
    rewritten(path, mark)
    with pytest.raises(ModelError, match="holds a weight as a pickle, which could run code"):
        read_weights(path)
    assert not (tmp_path / "made-by-the-pickle").exists()


@pytest.mark.parametrize(
    "change",
    [
        (b'"as_int": 4', b'"as_int": 400000'),
        (b'"dtype": 7', b'"dtype": 99'),
        (b'"path_name": "weight_1"', b'"path_name": "../x"'),
        (b'"config"', b'"other"'),
        (b"{", b"["),
    ],
)
def test_an_exported_network_that_lists_what_can_not_be_is_refused(tmp_path: Path, change: tuple[bytes, bytes]) -> None:
    path = tmp_path / "a.pt2"
    exported(path, torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3)).eval())

    def damage(members: dict[str, bytes]) -> None:
        name = next(name for name in members if name.endswith("model_weights_config.json"))
        members[name] = members[name].replace(*change)

    rewritten(path, damage)
    with pytest.raises(ModelError, match=r"a\.pt2 is damaged or no file of torch\.export"):
        read_weights(path)


@pytest.mark.parametrize("damage", [b"", b"\x80\x02", b"PK\x03\x04", b"\x80\x02]q\x00(K\x01.", bytes(500)])
def test_a_damaged_pickle_ends_with_a_sentence(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "a.pth").write_bytes(damage)
    with pytest.raises(ModelError, match=r"a\.pth (cannot be read|holds no weights)"):
        read_weights(tmp_path / "a.pth")


@pytest.mark.parametrize("name", ["resnet18", "vit_tiny_patch16_224"])
def test_the_architecture_is_found_by_names_and_shapes(tmp_path: Path, name: str) -> None:
    with seeded():
        module = timm.create_model(name, num_classes=3).eval()
    torch.save(prefixed("model.", state(module)), tmp_path / "a.pth")
    made = make_package(tmp_path / "a.pth", tmp_path / "made", Stated(**STATED, input_px=224))
    pixels = tiles(3, 224)
    scores = score_tiles(load_model(made.card, tmp_path / "made", "cpu"), pixels)
    np.testing.assert_allclose(scores, plain(made.card, module, pixels), atol=1e-5)


def test_a_deeper_network_is_not_taken_for_a_shallow_one(tmp_path: Path) -> None:
    module = timm.create_model("test_resnet", num_classes=3)
    deeper = {**state(module), "layer1.7.conv1.weight": torch.ones(2, 2, 3, 3)}
    torch.save(deeper, tmp_path / "a.pth")
    with pytest.raises(
        ModelError, match=r"do not fit timm/test_resnet; the nearest is .* which has no layer1\.7\.conv1"
    ):
        make_package(
            tmp_path / "a.pth", tmp_path / "made", Stated(**STATED, architecture="timm/test_resnet", input_px=64)
        )
    assert not (tmp_path / "made").exists()


def test_what_no_file_says_is_asked_for(tmp_path: Path, vit: torch.nn.Module) -> None:
    torch.save(state(vit), tmp_path / "a.pth")
    with pytest.raises(MissingFacts) as caught:
        make_package(tmp_path / "a.pth", tmp_path / "made", Stated(architecture="timm/test_vit"))
    assert caught.value.names == ("mpp", "normalise", "classes", "activation")
    assert caught.value.columns == 3


def test_configs_of_timm_and_hugging_face_are_used(tmp_path: Path, vit: torch.nn.Module) -> None:
    save_file(state(vit), tmp_path / "model.safetensors")
    config = {
        "architecture": "test_vit",
        "num_classes": 3,
        "pretrained_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25], "input_size": [3, SIDE, SIDE]},
        "model_args": {"img_size": SIDE, "in_chans": 3},
        "id2label": {"0": "Other", "1": "Stroma", "2": "Tumor"},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    made = make_package(tmp_path, tmp_path / "made", Stated(mpp=0.5, activation=Activation.SOFTMAX))
    assert (made.card.mean, made.card.input_px, len(made.card.columns)) == ((0.5, 0.5, 0.5), SIDE, 3)
    assert "What config.json say was used" in " ".join(made.notes)


def test_an_encoder_gives_its_embedding(tmp_path: Path) -> None:
    with seeded():
        module = timm.create_model("test_vit", num_classes=0, img_size=SIDE).eval()
    torch.save(state(module), tmp_path / "a.pth")
    facts = {name: STATED[name] for name in ("mpp", "mean", "std")}
    made = make_package(tmp_path / "a.pth", tmp_path / "made", Stated(**facts, architecture="timm/test_vit"))
    assert (made.card.output, len(made.card.columns)) == (OutputKind.REGRESSION, module.num_features)
    assert made.card.columns[0].name == "embedding_0"


def test_torchscript_becomes_a_package_in_wsinfers_layout(tmp_path: Path) -> None:
    scripted(network(3)).save(tmp_path / "net.pt")
    made = make_package(tmp_path / "net.pt", tmp_path / "made", Stated(**STATED, tile_px=256, input_px=64))
    assert (made.card.kind, made.card.input_px, made.card.tile_px) == ("torchscript", 64, 256)


def test_onnx_becomes_a_package(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(graph().SerializeToString())
    facts = {**STATED, "classes": ("Other", "Tumor")}
    made = make_package(tmp_path / "net.onnx", tmp_path / "made", Stated(**facts))
    assert (made.card.kind, len(made.card.columns)) == ("onnx", 2)


def test_a_network_that_is_refused_leaves_nothing_behind(tmp_path: Path, vit: torch.nn.Module) -> None:
    broken = {**state(vit), "head.weight": torch.full((3, 64), float("nan"))}
    torch.save(broken, tmp_path / "a.pth")
    with pytest.raises(ModelError, match="not numbers"):
        make_package(tmp_path / "a.pth", tmp_path / "made", Stated(**STATED, architecture="timm/test_vit"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.pth"]
    (tmp_path / "made").mkdir()
    (tmp_path / "made/mine").touch()
    with pytest.raises(ModelError, match="is not empty"):
        make_package(tmp_path / "a.pth", tmp_path / "made", Stated(**STATED))


def test_a_folder_says_which_weights_it_holds_or_asks(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no weights"):
        find_weights(tmp_path)
    (tmp_path / "a.pth").touch()
    assert find_weights(tmp_path).name == "a.pth"
    (tmp_path / "b.ckpt").touch()
    with pytest.raises(ModelError, match=r"name one of a\.pth, b\.ckpt"):
        find_weights(tmp_path)
    (tmp_path / "model.safetensors").touch()
    assert find_weights(tmp_path).name == "model.safetensors"
