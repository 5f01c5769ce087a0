"""Training loops of PyTorch alone, as its tutorials and examples write them."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it
from torch.utils.checkpoint import checkpoint

from tests.frontends.loops.cases import Loop, loop


def convolutions(width: int = 16, classes: int = 10) -> nn.Sequential:
    """Return a small classifier of pictures with batch norm."""
    layers: list[nn.Module] = []
    channels = 3
    for number in range(3):
        layers += [nn.Conv2d(channels, width << number, 3, 2, 1), nn.BatchNorm2d(width << number),
                   nn.ReLU(inplace=True)]  # fmt: skip
        channels = width << number
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(channels, classes))  # fmt: skip


def pictures(samples: int = 16, side: int = 64, classes: int = 10) -> tuple[Any, Any]:
    """Return pictures and their classes."""
    return torch.randn(samples, 3, side, side), torch.randint(classes, (samples,))


def perceptron(width: int = 512, out: int = 10) -> nn.Sequential:
    """Return linear layers with ReLU."""
    return nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, out))  # fmt: skip


def vectors(samples: int = 512) -> tuple[Any, Any]:
    """Return vectors and their classes."""
    return torch.randn(samples, 256), torch.randint(10, (samples,))


def generator() -> nn.Sequential:
    """Return the generator of DCGAN, for pictures of 32 x 32."""
    return nn.Sequential(
        nn.ConvTranspose2d(64, 128, 4, 1, 0, bias=False), nn.BatchNorm2d(128), nn.ReLU(True),
        nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(True),
        nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 3, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip


def critic(norm: bool = True) -> nn.Sequential:
    """Return the discriminator of DCGAN, for pictures of 32 x 32."""
    layers: list[nn.Module] = []
    for inside, outside in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(inside, outside, 4, 2, 1, bias=not norm)]
        layers += [nn.BatchNorm2d(outside)] if norm else []
        layers += [nn.LeakyReLU(0.2, inplace=True)]
    return nn.Sequential(*layers, nn.Conv2d(128, 1, 4), nn.Flatten(0))


@loop("torch")
def dcgan() -> Loop:
    """DCGAN with two optimizers."""
    net_g, net_d, criterion = generator(), critic(), nn.BCEWithLogitsLoss()
    optim_d = torch.optim.Adam(net_d.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optim_g = torch.optim.Adam(net_g.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def step(real: Any) -> None:
        net_d.zero_grad()
        label = torch.full((real.size(0),), 1.0)
        err_real = criterion(net_d(real), label)
        err_real.backward()
        fake = net_g(torch.randn(real.size(0), 64, 1, 1))
        label.fill_(0.0)
        err_fake = criterion(net_d(fake.detach()), label)
        err_fake.backward()
        optim_d.step()
        net_g.zero_grad()
        label.fill_(1.0)
        err_g = criterion(net_d(fake), label)
        err_g.backward()
        optim_g.step()

    return step, torch.randn(64, 3, 32, 32)


@loop("torch")
def wgan_gp() -> Loop:
    """WGAN-GP: two critic steps with a gradient penalty, then one of the generator."""
    net_g, net_d = generator(), critic(norm=False)
    optim_d = torch.optim.RMSprop(net_d.parameters(), lr=5e-5)
    optim_g = torch.optim.RMSprop(net_g.parameters(), lr=5e-5)

    def penalty(real: Any, fake: Any) -> Any:
        alpha = torch.rand(len(real), 1, 1, 1)
        between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        score = net_d(between)
        gradients = torch.autograd.grad(
            score, between, torch.ones_like(score), create_graph=True, retain_graph=True
        )[0]
        return ((gradients.flatten(1).norm(2, dim=1) - 1) ** 2).mean()

    def step(real: Any) -> None:
        for _ in range(2):
            optim_d.zero_grad()
            fake = net_g(torch.randn(len(real), 64, 1, 1)).detach()
            loss_d = net_d(fake).mean() - net_d(real).mean() + 10 * penalty(real, fake)
            loss_d.backward()
            optim_d.step()
        optim_g.zero_grad()
        loss_g = -net_d(net_g(torch.randn(len(real), 64, 1, 1))).mean()
        loss_g.backward()
        optim_g.step()

    return step, torch.randn(32, 3, 32, 32)


@loop("torch")
def grad_scaler() -> Loop:
    """GradScaler with autocast in bf16 and clipped gradients."""
    model, criterion = convolutions(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu")

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return step, pictures()


@loop("torch")
def lbfgs() -> Loop:
    """LBFGS with a closure."""
    model = perceptron(256)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, history_size=5)

    def step(batch: Any) -> None:
        x, y = batch

        def closure() -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        optimizer.step(closure)

    return step, vectors()


@loop("torch")
def leak_total_loss() -> Loop:
    """Running sum of losses that keeps every graph (total += loss)."""
    model = convolutions()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total: Any = 0

    def step(batch: Any) -> None:
        nonlocal total
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss

    return step, pictures()


@loop("torch")
def leak_outputs_list() -> Loop:
    """List of outputs for a metric at the end of the epoch, not detached."""
    model = perceptron()
    optimizer = torch.optim.Adam(model.parameters())
    outputs = []

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        out = model(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        outputs.append(out)

    return step, vectors()


@loop("torch")
def retain_graph() -> Loop:
    """Two losses of one graph, the first with retain_graph=True."""
    trunk, head_a, head_b = convolutions(classes=64), nn.Linear(64, 10), nn.Linear(64, 3)
    parameters = [*trunk.parameters(), *head_a.parameters(), *head_b.parameters()]
    optimizer = torch.optim.AdamW(parameters)

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        features = trunk(x)
        loss_a = F.cross_entropy(head_a(features), y)
        loss_b = F.cross_entropy(head_b(features), y % 3)
        loss_a.backward(retain_graph=True)
        loss_b.backward()
        optimizer.step()

    return step, pictures()


@loop("torch")
def averaged_model() -> Loop:
    """Exponential moving average by torch.optim.swa_utils.AveragedModel."""
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    model = convolutions(32)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        average.update_parameters(model)

    return step, pictures()


@loop("torch")
def accumulation() -> Loop:
    """Gradients accumulated over four parts of the batch."""
    model = convolutions(32)
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch: Any) -> None:
        optimizer.zero_grad()
        for x, y in zip(*(part.chunk(4) for part in batch), strict=True):
            loss = F.cross_entropy(model(x), y) / 4
            loss.backward()
        optimizer.step()

    return step, pictures(32)


@loop("torch")
def contrastive() -> Loop:
    """SimCLR: two views, similarities of all pairs (B x B)."""
    encoder = convolutions(8, classes=32)
    optimizer = torch.optim.Adam(encoder.parameters(), 3e-4)

    def step(views: Any) -> None:
        optimizer.zero_grad()
        features = F.normalize(encoder(torch.cat(views)), dim=1)
        similarity = features @ features.T / 0.07
        similarity = similarity.masked_fill(torch.eye(len(similarity), dtype=torch.bool), -1e9)
        labels = torch.arange(len(similarity)).roll(len(similarity) // 2)
        F.cross_entropy(similarity, labels).backward()
        optimizer.step()

    return step, (torch.randn(256, 3, 16, 16), torch.randn(256, 3, 16, 16))


class Tagger(nn.Module):
    """Tags of words by a bidirectional LSTM over packed sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5000, 64)
        self.lstm = nn.LSTM(64, 128, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(256, 20)

    def forward(self, words: Any, lengths: Any) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(words), lengths, batch_first=True, enforce_sorted=False
        )
        out, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.head(out)


@loop("torch")
def packed_sequences() -> Loop:
    """Bidirectional LSTM over packed sequences."""
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters())

    def step(batch: Any) -> None:
        words, lengths, tags = batch
        optimizer.zero_grad()
        scores = model(words, lengths)
        loss = F.cross_entropy(scores.flatten(0, 1), tags.flatten(), ignore_index=-1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()

    lengths = torch.tensor([48, 40, 40, 31, 22, 16, 9, 5])
    words, tags = torch.randint(5000, (8, 48)), torch.randint(20, (8, 48))
    tags[torch.arange(48) >= lengths[:, None]] = -1
    return step, (words, lengths, tags)


@loop("torch")
def truncated_backward() -> Loop:
    """Character LSTM that hands its detached state to the next step."""
    embedding, lstm = nn.Embedding(100, 64), nn.LSTM(64, 256, 2, batch_first=True)
    head = nn.Linear(256, 100)
    model = nn.ModuleList([embedding, lstm, head])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state: Any = None

    def step(text: Any) -> None:
        nonlocal state
        optimizer.zero_grad()
        if state is not None:
            state = tuple(part.detach() for part in state)
        out, state = lstm(embedding(text[:, :-1]), state)
        loss = F.cross_entropy(head(out).flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    return step, torch.randint(100, (16, 65))


@loop("torch")
def maml() -> Loop:
    """MAML: an inner step that is differentiated, by functional_call."""
    from torch.func import functional_call

    model = perceptron(256)
    optimizer = torch.optim.Adam(model.parameters())

    def step(tasks: Any) -> None:
        optimizer.zero_grad()
        for support, query in tasks:
            weights = dict(model.named_parameters())
            inner = F.cross_entropy(functional_call(model, weights, support[0]), support[1])
            gradients = torch.autograd.grad(inner, [*weights.values()], create_graph=True)
            pairs = zip(weights.items(), gradients, strict=True)
            fast = {name: weight - 0.1 * gradient for (name, weight), gradient in pairs}
            F.cross_entropy(functional_call(model, fast, query[0]), query[1]).backward()
        optimizer.step()

    return step, [(vectors(128), vectors(128)) for _ in range(3)]


class Vae(nn.Module):
    """Variational autoencoder of pytorch/examples."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
        self.fc3, self.fc4 = nn.Linear(20, 400), nn.Linear(400, 784)

    def forward(self, x: Any) -> Any:
        hidden = F.relu(self.fc1(x.view(-1, 784)))
        mean, log_variance = self.fc21(hidden), self.fc22(hidden)
        std = torch.exp(0.5 * log_variance)
        z = mean + torch.randn_like(std) * std
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mean, log_variance


@loop("torch")
def vae() -> Loop:
    """Variational autoencoder of pytorch/examples."""
    model = Vae()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train_loss = 0.0

    def step(data: Any) -> None:
        nonlocal train_loss
        optimizer.zero_grad()
        recon, mean, log_variance = model(data)
        bce = F.binary_cross_entropy(recon, data.view(-1, 784), reduction="sum")
        kld = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        loss = bce + kld
        loss.backward()
        train_loss += loss.item()
        optimizer.step()

    return step, torch.rand(128, 1, 28, 28)


@loop("torch")
def teacher_student() -> Loop:
    """Distillation: the scores of a teacher under no_grad."""
    teacher, student = convolutions(64).eval(), convolutions(8)
    optimizer = torch.optim.Adam(student.parameters())

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        with torch.no_grad():
            soft = F.softmax(teacher(x) / 2, dim=-1)
        scores = student(x)
        loss = F.kl_div(F.log_softmax(scores / 2, dim=-1), soft, reduction="batchmean")
        loss = loss + F.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()

    return step, pictures()


@loop("torch")
def checkpointed() -> Loop:
    """torch.utils.checkpoint over the blocks of a network."""
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256))
                           for _ in range(6))  # fmt: skip
    head = nn.Linear(256, 10)
    optimizer = torch.optim.AdamW([*blocks.parameters(), *head.parameters()])

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        for block in blocks:
            x = x + checkpoint(block, x, use_reentrant=False)
        F.cross_entropy(head(x), y).backward()
        optimizer.step()

    return step, vectors(2048)


@loop("torch")
def channels_last() -> Loop:
    """Network and pictures in channels_last."""
    model: Any = convolutions(32).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(batch: Any) -> None:
        x, y = batch
        x = x.to(memory_format=torch.channels_last)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, pictures()


@loop("torch")
def autocast_bf16() -> Loop:
    """Transformer encoder under autocast in bf16."""
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    model, head = nn.TransformerEncoder(layer, 3), nn.Linear(128, 10)
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()])

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(head(model(x).mean(1)), y)
        loss.backward()
        optimizer.step()

    return step, (torch.randn(8, 64, 128), torch.randint(10, (8,)))


@loop("torch")
def compiled_eager() -> Loop:
    """torch.compile with the backend "eager"."""
    net = perceptron()
    model = torch.compile(net, backend="eager")
    optimizer = torch.optim.Adam(net.parameters())

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, vectors()


@loop("torch")
def sharpness_aware() -> Loop:
    """Sharpness-aware minimization: two forwards and backwards for an update."""
    model = convolutions()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(batch: Any) -> None:
        x, y = batch
        F.cross_entropy(model(x), y).backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.norm(torch.stack([gradient.norm() for gradient in gradients]))
        with torch.no_grad():
            moves = [p.grad * (0.05 / (norm + 1e-12)) for p in model.parameters()]
            for parameter, move in zip(model.parameters(), moves, strict=True):
                parameter.add_(move)
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            for parameter, move in zip(model.parameters(), moves, strict=True):
                parameter.sub_(move)
        optimizer.step()
        optimizer.zero_grad()

    return step, pictures()


@loop("torch")
def momentum_contrast() -> Loop:
    """MoCo: an encoder of keys that follows, and a queue in a buffer."""
    query_net = convolutions(8, classes=32)
    key_net = copy.deepcopy(query_net).requires_grad_(False)
    queue = F.normalize(torch.randn(32, 4096), dim=0)
    optimizer = torch.optim.SGD(query_net.parameters(), lr=0.03, momentum=0.9)

    def step(views: Any) -> None:
        query = F.normalize(query_net(views[0]), dim=1)
        with torch.no_grad():
            for p, k in zip(query_net.parameters(), key_net.parameters(), strict=True):
                k.mul_(0.99).add_(p, alpha=0.01)
            key = F.normalize(key_net(views[1]), dim=1)
        positive = (query * key).sum(1, keepdim=True)
        logits = torch.cat([positive, query @ queue.clone().detach()], 1) / 0.07
        loss = F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            queue[:, : len(key)] = key.T

    return step, (torch.randn(64, 3, 32, 32), torch.randn(64, 3, 32, 32))


@loop("torch")
def actor_critic() -> Loop:
    """PPO: four passes over minibatches of a rollout that was drawn under no_grad."""
    actor, value = perceptron(256, 6), perceptron(256, 1)
    optimizer = torch.optim.Adam([*actor.parameters(), *value.parameters()], eps=1e-5)

    def step(states: Any) -> None:
        with torch.no_grad():
            policy = torch.distributions.Categorical(logits=actor(states))
            actions = policy.sample()
            before, returns = policy.log_prob(actions), torch.randn(len(states))
            advantage = returns - value(states).squeeze(1)
        for part in torch.randperm(len(states)).chunk(4):
            policy = torch.distributions.Categorical(logits=actor(states[part]))
            ratio = (policy.log_prob(actions[part]) - before[part]).exp()
            clipped = torch.clamp(ratio, 0.8, 1.2)
            loss = -torch.min(ratio * advantage[part], clipped * advantage[part]).mean()
            loss = loss + F.mse_loss(value(states[part]).squeeze(1), returns[part])
            loss = loss - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
            optimizer.step()

    return step, torch.randn(2048, 256)


@loop("torch")
def in_gradient_hooks() -> Loop:
    """Update in hooks after each gradient (optimizer in backward)."""
    model = perceptron(1024)
    optimizers = {p: torch.optim.AdamW([p]) for p in model.parameters()}

    def update(parameter: Any) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)

    def step(batch: Any) -> None:
        x, y = batch
        F.cross_entropy(model(x), y).backward()

    return step, vectors()


@loop("torch")
def inference_only() -> Loop:
    """Inference alone, under torch.inference_mode."""
    model = convolutions(32).eval()

    def step(x: Any) -> None:
        with torch.inference_mode():
            model(x).argmax(1)

    return step, pictures()[0]


@loop("torch")
def one_rank_ddp() -> Loop:
    """DistributedDataParallel on one rank (gloo)."""
    import tempfile

    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel

    meeting = tempfile.mkdtemp()
    distributed.init_process_group("gloo", f"file://{meeting}/meeting", rank=0, world_size=1)
    model = DistributedDataParallel(perceptron())
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, vectors()


@loop("torch")
def two_ranks_ddp() -> Loop:
    """DistributedDataParallel on two ranks (gloo); the second is another process."""
    import tempfile

    from torch import multiprocessing

    meeting = f"file://{tempfile.mkdtemp()}/meeting"
    other = multiprocessing.get_context("spawn").Process(
        target=_second_rank, args=(meeting,), daemon=True
    )
    other.start()
    return _ranked(meeting, 0), vectors()


def _ranked(meeting: str, rank: int) -> Any:
    """Return the step of a rank of two."""
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel

    distributed.init_process_group("gloo", meeting, rank=rank, world_size=2)
    model = DistributedDataParallel(perceptron())
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def _second_rank(meeting: str) -> None:
    """Run the second rank until the first has ended."""
    step = _ranked(meeting, 1)
    while True:
        step(vectors())
