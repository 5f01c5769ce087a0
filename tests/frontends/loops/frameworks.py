"""Training loops of torch_geometric, lightning and torchmetrics."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

from tests.frontends.loops.cases import Loop, loop
from tests.frontends.loops.plain import Vae, convolutions, critic, generator, pictures


def graphs(count: int) -> Any:
    """Return a batch of random graphs."""
    from torch_geometric.data import Batch, Data

    return Batch.from_data_list([
        Data(x=torch.randn(nodes, 32), edge_index=torch.randint(nodes, (2, 6 * nodes)),
             y=torch.randint(3, (1,)))
        for nodes in range(40, 40 + count)
    ])  # fmt: skip


class Graph(nn.Module):
    """Classifier of graphs."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        from torch_geometric import nn as pyg

        make = {"gcn": pyg.GCNConv, "gat": pyg.GATConv, "sage": pyg.SAGEConv}[kind]
        self.conv1, self.conv2, self.head = make(32, 128), make(128, 128), nn.Linear(128, 3)

    def forward(self, x: Any, edges: Any, batch: Any = None) -> Any:
        from torch_geometric.nn import global_mean_pool

        x = self.conv1(x, edges).relu()
        x = F.dropout(self.conv2(x, edges).relu(), training=self.training)
        return self.head(x if batch is None else global_mean_pool(x, batch))


def of_graphs(kind: str) -> Loop:
    """Return a loop over batches of graphs."""
    model = Graph(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step(data: Any) -> None:
        optimizer.zero_grad()
        out = model(data.x, data.edge_index, data.batch)
        loss = F.cross_entropy(out, data.y)
        loss.backward()
        optimizer.step()

    return step, graphs(32)


@loop("torch_geometric")
def pyg_gcn() -> Loop:
    """GCN over a batch of graphs."""
    return of_graphs("gcn")


@loop("torch_geometric")
def pyg_gat() -> Loop:
    """Graph attention over a batch of graphs."""
    return of_graphs("gat")


@loop("torch_geometric")
def pyg_sage_full_graph() -> Loop:
    """GraphSAGE on one graph, its loss on a mask of nodes."""
    from torch_geometric.data import Data

    model = Graph("sage")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    def step(data: Any) -> None:
        model.train()
        optimizer.zero_grad()
        out = model(data.x, data.edge_index)
        loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()

    return step, Data(x=torch.randn(2000, 32), edge_index=torch.randint(2000, (2, 10000)),
                      y=torch.randint(3, (2000,)),
                      train_mask=torch.arange(2000) < 500)  # fmt: skip


@loop("lightning")
def lightning_module() -> Loop:
    """training_step and configure_optimizers of a LightningModule, called by hand."""
    import lightning

    class Autoencoder(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Vae()

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            recon, mean, log_variance = self.net(batch)
            kld = -0.5 * torch.mean(1 + log_variance - mean.pow(2) - log_variance.exp())
            return F.mse_loss(recon, batch.view(-1, 784)) + kld

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 10)]

    model = Autoencoder()
    (optimizer,), (scheduler,) = model.configure_optimizers()

    def step(batch: Any) -> None:
        loss = model.training_step(batch, 0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()

    return step, torch.rand(256, 1, 28, 28)


@loop("lightning")
def lightning_fabric_gan() -> Loop:
    """GAN by Fabric in bf16-mixed."""
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    fabric.launch()
    net_g, net_d = generator(), critic()
    model_g, optimizer_g = fabric.setup(net_g, torch.optim.Adam(net_g.parameters(), lr=2e-4))
    model_d, optimizer_d = fabric.setup(net_d, torch.optim.Adam(net_d.parameters(), lr=2e-4))

    def step(real: Any) -> None:
        optimizer_d.zero_grad()
        fake = model_g(torch.randn(len(real), 64, 1, 1))
        loss_d = F.softplus(-model_d(real)).mean() + F.softplus(model_d(fake.detach())).mean()
        fabric.backward(loss_d)
        optimizer_d.step()
        optimizer_g.zero_grad()
        loss_g = F.softplus(-model_d(fake)).mean()
        fabric.backward(loss_g)
        optimizer_g.step()

    return step, torch.randn(32, 3, 32, 32)


@loop("torchmetrics")
def torchmetrics_accuracy() -> Loop:
    """Accuracy of torchmetrics, and the mean of the detached losses."""
    import torchmetrics

    model = convolutions(32)
    accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=10)
    mean = torchmetrics.MeanMetric()
    optimizer = torch.optim.Adam(model.parameters())

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()
        accuracy.update(scores, y)
        mean.update(loss.detach())

    return step, pictures()


@loop("torchmetrics")
def torchmetrics_cat_leak() -> Loop:
    """CatMetric that is given scores with their graph."""
    import torchmetrics

    model = convolutions()
    scores_seen = torchmetrics.CatMetric()
    optimizer = torch.optim.Adam(model.parameters())

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        scores = model(x)
        F.cross_entropy(scores, y).backward()
        optimizer.step()
        scores_seen.update(scores)

    return step, pictures()
