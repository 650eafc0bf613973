# Writes the files beside it with PyTorch and NumPy: python3 make.py. Not run by the tests; their values are small whole
# numbers, which the tests state.
import collections
import os
import sys

import numpy
import torch

folder = os.path.dirname(os.path.abspath(sys.argv[0]))


def out(name, value, **options):
    torch.save(value, os.path.join(folder, name), **options)


base = torch.arange(24, dtype=torch.float32)
out("dtypes.pt", {
    "float32": torch.tensor([[1.5, -2.0], [3.25, 0.0]]),
    "float64": torch.tensor([1e300, -0.5], dtype=torch.float64),
    "float16": torch.tensor([1.5, 65504.0]).half(),
    "bfloat16": torch.tensor([1.5, -3.0]).bfloat16(),
    "int64": torch.tensor([2**40, -1]),
    "int32": torch.tensor([7, -7], dtype=torch.int32),
    "int16": torch.tensor([300, -300], dtype=torch.int16),
    "int8": torch.tensor([-128, 127], dtype=torch.int8),
    "uint8": torch.tensor([0, 255], dtype=torch.uint8),
    "bool": torch.tensor([True, False, True]),
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 3),
})
out("views.pt", collections.OrderedDict([
    ("transposed", base.reshape(4, 6).t()),
    ("slice", base[5:9]),
    ("strided", base.reshape(4, 6)[1:3, ::2]),
    ("expanded", torch.tensor([[1.0], [2.0]]).expand(2, 3)),
    ("tied", base),
    ("tied_again", base),
]))

net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
with torch.no_grad():
    for i, p in enumerate(net.parameters()):
        p.copy_(torch.arange(p.numel(), dtype=torch.float32).reshape(p.shape) + i)
out("module.pt", net.state_dict())
for protocol in (3, 4, 5):
    out(f"protocol{protocol}.pt", net.state_dict(), pickle_protocol=protocol)
out("whole_module.pt", net)
out("parameter.pt", {"p": torch.nn.Parameter(torch.ones(2))})
out("legacy.pt", {"a": torch.ones(2)}, _use_new_zipfile_serialization=False)

optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for p in net.parameters():
    p.grad = torch.ones_like(p)
optimizer.step()
out("checkpoint.pt", {
    "optimizer": optimizer.state_dict(),
    "epoch": 3,
    "best": 0.25,
    "name": "größe",
    "done": False,
    "none": None,
    "big": 2**70,
    "list": [1, (2, 3)],
    "shape": torch.Size([2, 3]),
})

arrays = {code: numpy.array([[0, 1, 2], [3, 4, 5]]).astype(code)
          for code in ("<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "|b1",
                       ">f2", ">f4", ">f8", ">i2", ">i4", ">i8", ">u2", ">u4", ">u8")}
named = {code.replace("<", "little_").replace(">", "big_").replace("|", "one_"): a for code, a in arrays.items()}
more = {
    "fortran": numpy.asfortranarray(numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)),
    "fortran_big": numpy.asfortranarray(numpy.arange(6).reshape(2, 3).astype(">i4")),
    "scalar": numpy.float64(2.5),
    "empty": numpy.zeros((0, 3), dtype=numpy.float32),
}
numpy.savez(os.path.join(folder, "arrays.npz"), **named, **more)
numpy.savez_compressed(os.path.join(folder, "compressed.npz"), zeros=numpy.zeros((100, 100), dtype=numpy.float32),
                       count=numpy.arange(1000))
numpy.save(os.path.join(folder, "objects.npy"), numpy.array([{}, 1], dtype=object), allow_pickle=True)
numpy.save(os.path.join(folder, "records.npy"), numpy.zeros(2, dtype=[("a", "<i4"), ("b", "<f4")]))

from PIL import Image  # noqa: E402


def picture(mode, value, name, **options):
    image = Image.new(mode, (5, 3))
    for y in range(3):
        for x in range(5):
            image.putpixel((x, y), value(x, y))
    if mode == "P":
        image.putpalette([1, 2, 3, 40, 50, 60, 255, 254, 253])
    image.save(os.path.join(folder, name), **options)


picture("L", lambda x, y: 10 * y + x, "grey.png")
picture("LA", lambda x, y: (10 * y + x, 200 + x), "grey_alpha.png")
picture("RGB", lambda x, y: (x, y, 100 + x), "rgb.png")
picture("RGBA", lambda x, y: (x, y, 100 + x, 250 - y), "rgba.png")
picture("1", lambda x, y: (x + y) % 2 * 255, "bits.png")
picture("I;16", lambda x, y: 1000 * y + x, "grey16.png")
picture("P", lambda x, y: (x + y) % 3, "palette.png", bits=2)
picture("P", lambda x, y: (x + y) % 3, "palette_alpha.png", bits=4, transparency=bytes([0, 128, 255]))
