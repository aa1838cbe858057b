"""Activation functions as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from ...base.checks import number
from ...base.entry import entries
from ...base.errors import UnknownNameError
from ...initializer import Constant
from ...ops.neural.neural import ACTIVATIONS
from ..block import HybridBlock

if TYPE_CHECKING:
    from ...core.types import Functions, Tensor
    from ...initializer.base import InitLike
    from ..types import BlockOptions

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "Swish"]


class Activation(HybridBlock):
    """An activation function by name: relu, sigmoid, log_sigmoid, tanh, softrelu or softsign.

    Parameters
    ----------
    activation : str

    Raises
    ------
    UnknownNameError
        If there is no such function.  The hint names the most similar one.
    """

    def __init__(self, activation: str, **kwargs: Unpack[BlockOptions]) -> None:
        UnknownNameError.check("activation", activation, ACTIVATIONS)
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Functions, x: Tensor) -> Tensor:
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(HybridBlock):
    """``x`` where it is positive, ``alpha * x`` elsewhere.

    Parameters
    ----------
    alpha : float
        Not negative.
    """

    def __init__(self, alpha: float, **kwargs: Unpack[BlockOptions]) -> None:
        number("alpha", alpha, "at least 0", lambda value: value >= 0, "it is the slope of LeakyReLU.")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Functions, x: Tensor) -> Tensor:
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """``x`` where it is positive, ``alpha * x`` elsewhere, with an ``alpha`` that is learned.

    K. He et al.: Delving Deep into Rectifiers, ICCV 2015.

    Parameters
    ----------
    alpha_initializer : Initializer
    in_channels : int
        Number of learned values of ``alpha``: 1, or the length of the second axis.
    """

    def __init__(self, alpha_initializer: InitLike = Constant(0.25), in_channels: int = 1,  # noqa: B008
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Functions, x: Tensor, alpha: Tensor) -> Tensor:
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    D.-A. Clevert et al.: Fast and Accurate Deep Network Learning by Exponential Linear Units, ICLR 2016.

    Parameters
    ----------
    alpha : float
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Functions, x: Tensor) -> Tensor:
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """An ELU scaled so that normalized inputs stay normalized: G. Klambauer et al., NIPS 2017."""

    def __init__(self, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Functions, x: Tensor) -> Tensor:
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """``x`` times the standard normal distribution function of ``x``: D. Hendrycks and K. Gimpel, 2016."""

    def __init__(self, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Functions, x: Tensor) -> Tensor:
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """``x * sigmoid(beta * x)``: P. Ramachandran et al., Searching for Activation Functions, 2017.

    Parameters
    ----------
    beta : float
        With 1 the function is also known as SiLU.
    """

    def __init__(self, beta: float = 1.0, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Functions, x: Tensor) -> Tensor:
        return x * F.sigmoid(self._beta * x, name="fwd")


entries(globals(), __all__)
