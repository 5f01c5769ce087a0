"""Training loops of timm, torchvision, segmentation_models_pytorch and diffusers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

from tests.frontends.loops.cases import Loop, loop
from tests.frontends.loops.plain import pictures


@loop("timm")
def timm_convnext() -> Loop:
    """ConvNeXt with AdamW and label smoothing."""
    import timm.optim
    from timm.loss import LabelSmoothingCrossEntropy

    model, criterion = timm.create_model("convnext_atto"), LabelSmoothingCrossEntropy()
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

    return step, pictures(8, 96)


@loop("timm")
def timm_regnety_ema() -> Loop:
    """RegNetY with ModelEmaV3 and adaptive gradient clipping."""
    import timm.optim
    from timm.utils import ModelEmaV3, dispatch_clip_grad

    model = timm.create_model("regnety_002")
    ema = ModelEmaV3(model, decay=0.9998)
    optimizer = timm.optim.create_optimizer_v2(model, opt="sgd", lr=0.1, momentum=0.9)

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        dispatch_clip_grad(model.parameters(), 0.01, mode="agc")
        optimizer.step()
        ema.update(model)

    return step, pictures(8, 96)


@loop("timm")
def timm_mixer() -> Loop:
    """MLP-Mixer with Lamb of timm."""
    import timm.optim

    model = timm.create_model("mixer_s32_224", num_classes=10)
    optimizer = timm.optim.create_optimizer_v2(model, opt="lamb", lr=1e-3)

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, pictures(8, 224)


@loop("timm")
def timm_swin() -> Loop:
    """Swin transformer with a learning-rate scheduler."""
    from timm.models.swin_transformer import SwinTransformer

    model = SwinTransformer(img_size=112, embed_dim=48, depths=(2, 2, 2), num_heads=(2, 4, 8),
                            num_classes=10)  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()

    return step, pictures(8, 112)


@loop("timm")
def timm_vit_scaler() -> Loop:
    """ViT under autocast, with the scaler of timm."""
    import timm.optim
    from timm.utils import NativeScaler

    model = timm.create_model("vit_tiny_patch16_224", num_classes=10, depth=4)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = NativeScaler(device="cpu")

    def step(batch: Any) -> None:
        x, y = batch
        optimizer.zero_grad()
        with torch.amp.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())

    return step, pictures(4, 224)


@loop("timm")
def timm_features_frozen() -> Loop:
    """Frozen backbone of timm in eval mode, and a new head."""
    import timm.optim

    backbone = timm.create_model("resnet18", num_classes=0).eval().requires_grad_(False)
    head = nn.Linear(512, 10)
    optimizer = torch.optim.AdamW(head.parameters())

    def step(batch: Any) -> None:
        x, y = batch
        with torch.no_grad():
            features = backbone(x)
        loss = F.cross_entropy(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, pictures(8, 96)


@loop("torchvision")
def torchvision_fine_tuned() -> Loop:
    """Frozen ResNet of the transfer-learning tutorial: requires_grad=False, a new fc."""
    from torchvision.models import resnet18

    model = resnet18(weights=None)
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, 2)
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.001, momentum=0.9)
    running_loss, running_corrects = 0.0, 0

    def step(batch: Any) -> None:
        nonlocal running_loss, running_corrects
        inputs, labels = batch
        optimizer.zero_grad()
        outputs = model(inputs)
        _, predicted = torch.max(outputs, 1)
        loss = F.cross_entropy(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * inputs.size(0)
        running_corrects += torch.sum(predicted == labels.data)

    return step, pictures(8, 96, 2)


def boxes(samples: int, side: int) -> tuple[Any, Any]:
    """Return pictures and targets as torchvision's detection models take them."""
    corner = torch.rand(samples, 3, 2) * side / 2
    targets = [{"boxes": torch.cat([xy, xy + side / 4 + 8], 1), "labels": torch.tensor([1, 2, 3])}
               for xy in corner]  # fmt: skip
    return [torch.rand(3, side, side) for _ in range(samples)], targets


@loop("torchvision")
def detection_faster_rcnn() -> Loop:
    """Faster R-CNN, mobile: its losses are a dict."""
    from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

    torch.compiler.set_stance("force_eager")  # RoI align in Python is compiled otherwise
    model = fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None,
        weights_backbone=None,
        num_classes=4,
        min_size=128,
        max_size=160,
        box_batch_size_per_image=32,
    )
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.005,
                                momentum=0.9, weight_decay=0.0005)  # fmt: skip

    def step(batch: Any) -> None:
        images, targets = batch
        loss_dict = model(images, targets)
        losses = sum(loss for loss in loss_dict.values())
        optimizer.zero_grad()
        losses.backward()
        optimizer.step()

    return step, boxes(2, 128)


@loop("torchvision")
def detection_ssdlite() -> Loop:
    """SSDlite with MobileNetV3."""
    from torchvision.models.detection import ssdlite320_mobilenet_v3_large

    model = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)

    def step(batch: Any) -> None:
        images, targets = batch
        loss_dict = model(images, targets)
        losses = sum(loss for loss in loss_dict.values())
        optimizer.zero_grad()
        losses.backward()
        optimizer.step()

    return step, boxes(2, 160)


@loop("smp")
def smp_unet() -> Loop:
    """U-Net of segmentation_models_pytorch with its Dice loss."""
    import segmentation_models_pytorch as smp

    model = smp.Unet("resnet18", encoder_weights=None, classes=1)
    loss_fn = smp.losses.DiceLoss(smp.losses.BINARY_MODE, from_logits=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)

    def step(batch: Any) -> None:
        image, mask = batch
        optimizer.zero_grad()
        loss = loss_fn(model(image), mask)
        loss.backward()
        optimizer.step()

    return step, (torch.randn(4, 3, 96, 96), (torch.rand(4, 1, 96, 96) > 0.5).float())


def validated(guarded: bool) -> Loop:
    """Return a training step and a validation pass, under no_grad if ``guarded``."""
    import segmentation_models_pytorch as smp

    model = smp.FPN("mobilenet_v2", encoder_weights=None, classes=3)
    optimizer = torch.optim.Adam(model.parameters())

    def step(batch: Any) -> None:
        (x, y), (x_val, y_val) = batch
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        model.eval()
        with torch.set_grad_enabled(not guarded):
            out = model(x_val)
            F.cross_entropy(out, y_val)

    train = torch.randn(2, 3, 96, 96), torch.randint(3, (2, 96, 96))
    return step, (train, (torch.randn(6, 3, 96, 96), torch.randint(3, (6, 96, 96))))


@loop("smp")
def smp_validation_with_graph() -> Loop:
    """Validation without no_grad, on a larger batch."""
    return validated(guarded=False)


@loop("smp")
def smp_validation_no_grad() -> Loop:
    """Validation under no_grad, on a larger batch."""
    return validated(guarded=True)


@loop("diffusers")
def diffusers_unet() -> Loop:
    """Unconditional UNet2DModel with DDPMScheduler and EMAModel."""
    from diffusers import DDPMScheduler, UNet2DModel
    from diffusers.training_utils import EMAModel

    model = UNet2DModel(
        sample_size=32, layers_per_block=1, block_out_channels=(32, 64), norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    ema, scheduler = EMAModel(model.parameters()), DDPMScheduler(num_train_timesteps=1000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step(clean: Any) -> None:
        noise = torch.randn(clean.shape)
        timesteps = torch.randint(0, 1000, (clean.shape[0],), dtype=torch.int64)
        noisy = scheduler.add_noise(clean, noise, timesteps)
        prediction = model(noisy, timesteps, return_dict=False)[0]
        loss = F.mse_loss(prediction, noise)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        ema.step(model.parameters())

    return step, torch.randn(8, 3, 32, 32)


@loop("diffusers")
def diffusers_text_to_image() -> Loop:
    """UNet2DConditionModel on latents of a frozen AutoencoderKL."""
    from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel

    vae = AutoencoderKL(block_out_channels=(16, 32), norm_num_groups=8,
                        down_block_types=("DownEncoderBlock2D",) * 2,
                        up_block_types=("UpDecoderBlock2D",) * 2)  # fmt: skip
    vae.requires_grad_(False)
    unet = UNet2DConditionModel(
        sample_size=16, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=48,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), norm_num_groups=8,
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), attention_head_dim=4,
    )  # fmt: skip
    noise_scheduler = DDPMScheduler(num_train_timesteps=1000)
    optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)

    def step(batch: Any) -> None:
        latents = vae.encode(batch["pixel_values"]).latent_dist.sample() * 0.18215
        noise = torch.randn_like(latents)
        timesteps = torch.randint(0, 1000, (latents.shape[0],)).long()
        noisy = noise_scheduler.add_noise(latents, noise, timesteps)
        model_pred = unet(noisy, timesteps, batch["text"], return_dict=False)[0]
        loss = F.mse_loss(model_pred.float(), noise.float(), reduction="mean")
        loss.backward()
        nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step, {"pixel_values": torch.randn(4, 3, 64, 64), "text": torch.randn(4, 20, 48)}


@loop("diffusers")
def diffusers_autoencoder() -> Loop:
    """AutoencoderKL trained on reconstruction and KL."""
    from diffusers import AutoencoderKL

    vae = AutoencoderKL(block_out_channels=(16, 32), norm_num_groups=8,
                        down_block_types=("DownEncoderBlock2D",) * 2,
                        up_block_types=("UpDecoderBlock2D",) * 2)  # fmt: skip
    optimizer = torch.optim.AdamW(vae.parameters())

    def step(x: Any) -> None:
        posterior = vae.encode(x).latent_dist
        recon = vae.decode(posterior.sample()).sample
        loss = F.l1_loss(recon, x) + 1e-6 * posterior.kl().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, torch.randn(4, 3, 48, 48)
