"""Operations of PyTorch that call no vendor library, against its own on the CPU."""

import torch

OPERATIONS = (
    lambda x, w: x * 2 - 1,
    lambda x, w: torch.relu(x - 0.25) + x.abs().sqrt(),
    lambda x, w: x.sum(),
    lambda x, w: x.mean(1),
    lambda x, w: torch.softmax(x, 1),
    lambda x, w: torch.tanh((x[:, None, :] * w).sum(-1) + w[:, 0]),
)
torch.manual_seed(0)
x, w = torch.randn(64, 128), torch.randn(32, 128)
for operation in OPERATIONS:
    wanted = operation(x, w)
    found = operation(x.cuda(), w.cuda()).cpu()
    print(torch.allclose(wanted, found, rtol=1e-4, atol=1e-5))
