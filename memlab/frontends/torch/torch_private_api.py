"""Private parts of PyTorch that a recording needs: modes of dispatch, numbers of autograd's nodes,
trees of values."""

from __future__ import annotations

from memlab.private_api import Internal, Package

TORCH = Package("torch", "2.13.0", "2.13.0")

MODE = Internal(
    TORCH, "torch.utils._python_dispatch", "TorchDispatchMode", "see every operation of a model"
)
"""A class whose objects are asked before any operator runs."""
STACK = Internal(
    TORCH, "torch.utils._python_dispatch", "_get_current_dispatch_mode_stack", "know which calls "
    "are of which module"
)  # fmt: skip
"""The modes that are asked now, among them the one that records."""
NORM = Internal(
    TORCH, "torch.nn.modules.batchnorm", "_BatchNorm", "run batch norm again without moving it"
)
"""What all batch norms are."""
FAKE = Internal(
    TORCH, "torch._subclasses.fake_tensor", "FakeTensorMode", "record a model without its memory"
)
"""In it tensors have shapes and storages, and no bytes."""
FAKE_TENSOR = Internal(
    TORCH, "torch._subclasses.fake_tensor", "FakeTensor", "record a model without its memory"
)
"""The class of these."""
NO_VALUE = Internal(
    TORCH, "torch._subclasses.fake_tensor", "DataDependentOutputException", "record a model "
    "without its memory"
)  # fmt: skip
"""The error of an operator that asks a fake tensor for its value."""
WRAPPER = Internal(
    TORCH, "torch.utils._python_dispatch", "is_traceable_wrapper_subclass_type", "follow the parts "
    "of distributed tensors"
)  # fmt: skip
"""Whether tensors of a class have their values in others, as those of ``DTensor`` have."""
UNSET = Internal(
    TORCH, "torch._subclasses.fake_tensor", "unset_fake_temporarily", "run an operation for real"
)
"""Leaves the mode of fake tensors for a while."""
NO_MODES = Internal(
    TORCH, "torch.utils._python_dispatch", "_disable_current_modes", "load the data of a script "
    "beside its watched step"
)  # fmt: skip
"""Leaves all modes of dispatch for a while."""
SEQUENCE = Internal(
    TORCH, "torch._C._autograd", "_get_sequence_nr", "know which operation a backward belongs to"
)
"""The number that autograd gives to the next node."""
CONSTRUCTORS = Internal(
    TORCH, "torch.utils._device", "_device_constructors", "let a model ask for CUDA without a GPU"
)
"""The functions that create tensors on a device."""
DEVICES = Internal(TORCH, "torch.utils", "_device", "let a model ask for CUDA without a GPU")
"""The module whose ``CURRENT_DEVICE`` is the one that ``torch.set_default_device`` has set."""
MODES = Internal(
    TORCH, "torch.overrides", "_get_current_function_mode_stack", "let a model ask for CUDA "
    "without a GPU"
)  # fmt: skip
"""The modes that are asked before any function of PyTorch runs."""
SCALED_STEP = Internal(
    TORCH, "torch.amp.grad_scaler.GradScaler", "_maybe_opt_step", "record a step with a gradient "
    "scaler"
)  # fmt: skip
"""Takes the step of an optimizer if all gradients are finite."""
NODE = Internal(
    TORCH, "torch._C", "_current_autograd_node", "know which operation a backward belongs to"
)
"""The node whose backward runs now; it has its number."""
BACKWARD = Internal(
    TORCH, "torch.autograd.graph", "_engine_run_backward", "know which calls autograd makes itself"
)
"""Runs backward in C++."""
MAP = Internal(TORCH, "torch.utils._pytree", "tree_map", "look into the inputs of a model")
LEAVES = Internal(TORCH, "torch.utils._pytree", "tree_leaves", "look into the inputs of a model")
"""What lies in lists, dicts and tuples of any depth."""

DISPATCH_KEY = Internal(TORCH, "torch._C", "DispatchKey", "cast as autocast on CUDA does")
"""Names of the dispatcher's keys."""
KEY_EXCLUDED = Internal(
    TORCH, "torch._C", "_dispatch_tls_is_dispatch_key_excluded", "cast as autocast on CUDA does"
)
SET_KEY_EXCLUDED = Internal(
    TORCH, "torch._C", "_dispatch_tls_set_dispatch_key_excluded", "cast as autocast on CUDA does"
)
"""Whether this thread's operators go past a key."""
REGISTRATIONS = Internal(
    TORCH, "torch._C", "_dispatch_get_registrations_for_dispatch_key", "cast as autocast on CUDA "
    "does"
)  # fmt: skip
"""The operators that have a kernel under a key."""
FOREACH_DEVICES = Internal(
    TORCH, "torch.utils._foreach_utils", "_get_foreach_kernels_supported_devices", "update all "
    "parameters at once, as optimizers on CUDA do"
)  # fmt: skip
FOREACH_TYPES = Internal(
    TORCH, "torch.utils._foreach_utils", "_foreach_supported_types", "update all parameters at "
    "once, as optimizers on CUDA do"
)  # fmt: skip
OPTIMIZER_TYPES = Internal(
    TORCH, "torch.optim.optimizer", "_foreach_supported_types", "update all parameters at once, as "
    "optimizers on CUDA do"
)  # fmt: skip
"""Devices and classes of tensors for which optimizers and clipping take foreach operators."""
OPTIMIZER_TYPES = Internal(
    TORCH, "torch.optim.optimizer", "_foreach_supported_types", "update all parameters at once, as "
    "optimizers on CUDA do"
)  # fmt: skip
"""Classes of parameters for which optimizers take them."""
KEYS_AFTER = Internal(
    TORCH, "torch._C", "_dispatch_keyset_full_after", "cast as autocast on CUDA does"
)
"""The keys that come after one in the dispatcher."""
