"""What annotations call the things of PyTorch, which need not be installed where they are checked."""

from __future__ import annotations

import weakref
from typing import Any, TypeAlias

#: PyTorch itself, or a part of it.  Any: it need not be installed.
Torch: TypeAlias = Any

#: A tensor of any class and layout.  Any: as above.
TorchTensor: TypeAlias = Any

#: The element type of a tensor.  Any: as above.
TorchType: TypeAlias = Any

#: An operator, as a dispatch mode is given it.  Any: as above.
TorchFunction: TypeAlias = Any

#: A ``torch.nn.Module``.  Any: as above.
TorchModule: TypeAlias = Any

#: A ``torch.optim.Optimizer``.  Any: as above.
TorchOptimizer: TypeAlias = Any

#: A ``TorchDispatchMode``, or the class of one.  Any: as above.
TorchMode: TypeAlias = Any

#: A class of PyTorch, or of a user: of a layer, of an optimizer.  Any: as above.
TorchClass: TypeAlias = Any

#: An argument of an operator.  Any: as above.
TorchArgument: TypeAlias = Any

#: Options of a layer or an optimizer.  Any: as above.
TorchOptions: TypeAlias = dict[str, Any]

#: A weak reference to a module or a tensor.  Any: as above.
TorchReference: TypeAlias = weakref.ref[Any]
