"""A small ONNX model, written without any package."""


def varint(value):
    data = b""
    while value > 127:
        data, value = data + bytes([value & 127 | 128]), value >> 7
    return data + bytes([value])


def field(number, value):
    """A field of a protobuf message: an integer, a text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def matrix(name, rows, columns):
    shape = b"".join(field(1, field(1, size)) for size in (rows, columns))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def onnx_model():
    """y = relu(x a), as ONNX writes it."""
    nodes = [field(1, "x") + field(1, "a") + field(2, "p") + field(4, "MatMul"),
             field(1, "p") + field(2, "y") + field(4, "Relu")]
    graph = (b"".join(field(1, node) for node in nodes) + field(2, "tiny")
             + field(11, matrix("x", 64, 128)) + field(11, matrix("a", 128, 256))
             + field(12, matrix("y", 64, 256)))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))
