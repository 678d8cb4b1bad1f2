"""Common building blocks of models, losses and updates, written for these tests.

BLOCKS maps a name to a function of the batch size that returns the arguments of export(). REFUSED maps a name to
such a function with the words of its refusal: what depends on data.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint

BLOCKS, REFUSED = {}, {}
WIDTH = 8


class Model(nn.Module):
    """A linear layer, then what a block does with its output [batch, ..., 8]; `parts` are modules
    and parameters by name."""

    def __init__(self, then, **parts):
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)
        for name, part in parts.items():
            setattr(self, name, part)
        self.then = then

    def forward(self, x, *others):
        return self.then(self, self.layer(x), *others)


def number(output):
    """A loss of any output."""
    output = output[0] if isinstance(output, tuple) else output
    output = torch.view_as_real(output) if output.is_complex() else output
    return output.pow(2).mean()


def ids(*shape):
    return torch.zeros(shape, dtype=torch.int64)


def step(model, inputs, loss=number, targets=None, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    return {"model": model, "example_inputs": inputs, "loss": loss, "optimizer": optimizer,
            "targets": targets}


def block(name, table=BLOCKS):
    def enter(build):
        assert name not in table, name
        table[name] = build
        return build
    return enter


def then(name, function, shape=(), **parts):
    """A block that calls function(model, y) with y of [batch, *shape, 8]; `parts` are made anew."""
    @block(name)
    def build(batch):
        made = {key: make() for key, make in parts.items()}
        return step(Model(function, **made), torch.zeros(batch, *shape, WIDTH))


def part(name, make, shape=()):
    """A block that is a module on [batch, *shape, 8]."""
    then(name, lambda model, y: model.part(y), shape, part=make)


def image(name, function, **parts):
    """A block that calls function(model, y) with y of [batch, 8, 6, 6]."""
    @block(name)
    def build(batch):
        made = {key: make() for key, make in parts.items()}
        model = Model(lambda m, y: function(m, y.transpose(1, 3)), **made)
        return step(model, torch.zeros(batch, 6, 6, WIDTH))


def loss(name, function, *targets):
    """A block that is a loss function of [batch, 8] and of targets, each made for a batch size."""
    @block(name)
    def build(batch):
        model = Model(lambda m, y: y)
        return step(model, torch.zeros(batch, WIDTH), function,
                    tuple(make(batch) for make in targets))


def optimizer(name, make, **parts):
    """A block that is an update of a linear layer and of a vector: make(parameters)."""
    @block(name)
    def build(batch):
        model = Model(lambda m, y: m.norm(y), norm=nn.LayerNorm(WIDTH))
        return step(model, torch.zeros(batch, WIDTH), optimizer=make(model))


def refused(name, words, function, shape=()):
    @block(name, REFUSED)
    def build(batch):
        return step(Model(function), torch.zeros(batch, *shape, WIDTH)), words


# Losses


def labels(batch):
    return ids(batch)


def like(batch):
    return torch.zeros(batch, WIDTH)


loss("cross entropy", nn.CrossEntropyLoss(), labels)
loss("cross entropy with label smoothing", nn.CrossEntropyLoss(label_smoothing=0.1), labels)
loss("cross entropy with label smoothing and class weights",
     nn.CrossEntropyLoss(torch.ones(WIDTH), label_smoothing=0.1), labels)
loss("cross entropy that ignores labels, with label smoothing, as a sum",
     nn.CrossEntropyLoss(ignore_index=-1, label_smoothing=0.1, reduction="sum"), labels)
loss("cross entropy with probabilities and label smoothing",
     nn.CrossEntropyLoss(label_smoothing=0.1), like)
loss("negative log likelihood", lambda y, t: F.nll_loss(y.log_softmax(1), t), labels)
loss("binary cross entropy", lambda y, t: F.binary_cross_entropy(y.sigmoid(), t), like)
loss("binary cross entropy of logits with class weights",
     lambda y, t: F.binary_cross_entropy_with_logits(y, t, pos_weight=torch.ones(WIDTH)), like)
loss("mean squared error", nn.MSELoss(), like)
loss("mean absolute error", nn.L1Loss(), like)
loss("smooth L1", nn.SmoothL1Loss(), like)
loss("Huber", nn.HuberLoss(), like)
loss("Kullback-Leibler", lambda y, t: F.kl_div(y.log_softmax(1), t, reduction="batchmean"), like)
loss("Poisson and Gaussian likelihood", lambda y, t: F.poisson_nll_loss(y, t) +
     F.gaussian_nll_loss(y, t, y.exp().detach().clone().fill_(1.0)), like)
loss("hinge embedding and soft margin",
     lambda y, t: F.hinge_embedding_loss(y, t) + F.soft_margin_loss(y, t), like)
loss("multi margin", nn.MultiMarginLoss(), labels)
loss("multilabel margins", lambda y, t: F.multilabel_soft_margin_loss(y, t) +
     F.multilabel_margin_loss(y, t.long()), like)
loss("triplet margin and cosine embedding",
     lambda y, t: F.triplet_margin_loss(y, t, t + 1) +
     F.cosine_embedding_loss(y, t, t[:, 0]), like)
loss("contrastive (InfoNCE)",
     lambda y, t: F.cross_entropy(F.normalize(y) @ F.normalize(t).t() / 0.07,
                                  torch.arange(y.shape[0])), like)
loss("focal", lambda y, t: ((1 - torch.exp(-F.cross_entropy(y, t, reduction="none"))) ** 2 *
                            F.cross_entropy(y, t, reduction="none")).mean(), labels)
loss("dice", lambda y, t: 1 - (2 * (y.sigmoid() * t).sum(1) /
                               (y.sigmoid().sum(1) + t.sum(1) + 1)).mean(), like)


def ctc(name, lengths, zero_infinity=False):
    @block(name)
    def build(batch):
        def value(y, targets):
            return F.ctc_loss(y.log_softmax(2).transpose(0, 1), targets, lengths(batch, 6),
                              lengths(batch, 3), zero_infinity=zero_infinity)
        return step(Model(lambda m, y: y), torch.zeros(batch, 6, WIDTH), value, ids(batch, 3))


ctc("CTC with lengths as numbers", lambda batch, length: (length,) * batch)
ctc("CTC with lengths as lists", lambda batch, length: [length] * batch, True)
ctc("CTC with lengths as tensors of the loss",
    lambda batch, length: torch.full((batch,), length, dtype=torch.int64))


# Normalisation and parametrization

part("layer norm", lambda: nn.LayerNorm(WIDTH))
then("RMS norm", lambda m, y: y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6) * m.scale,
     scale=lambda: nn.Parameter(torch.ones(WIDTH)))
part("batch norm", lambda: nn.BatchNorm1d(WIDTH))
part("batch norm with a cumulative average", lambda: nn.BatchNorm1d(WIDTH, momentum=None))
part("synchronised batch norm", lambda: nn.SyncBatchNorm(WIDTH))
image("group norm", lambda m, y: m.part(y), part=lambda: nn.GroupNorm(2, WIDTH))
image("instance norm", lambda m, y: m.part(y), part=lambda: nn.InstanceNorm2d(
    WIDTH, affine=True, track_running_stats=True))
image("local response norm", lambda m, y: m.part(y), part=lambda: nn.LocalResponseNorm(2))
part("weight norm", lambda: nn.utils.weight_norm(nn.Linear(WIDTH, WIDTH)))
part("spectral norm", lambda: nn.utils.spectral_norm(nn.Linear(WIDTH, WIDTH)))
part("spectral norm as a parametrization",
     lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(WIDTH, WIDTH)))
part("orthogonal parametrization",
     lambda: nn.utils.parametrizations.orthogonal(nn.Linear(WIDTH, WIDTH), use_trivialization=False))
if hasattr(nn.utils.parametrizations, "weight_norm"):
    part("weight norm as a parametrization",
         lambda: nn.utils.parametrizations.weight_norm(nn.Linear(WIDTH, WIDTH)))
part("pruned layer", lambda: prune.identity(nn.Linear(WIDTH, WIDTH), "weight"))


# Attention


def heads(y):
    """[batch, 6, 8] as [batch, 2, 6, 4]."""
    return y.unflatten(2, (2, 4)).transpose(1, 2)


def causal(y):
    return torch.full((y.shape[1], y.shape[1]), float("-inf")).triu(1)


def rotated(y):
    """Rotary position embedding of [batch, 6, 8]."""
    angles = torch.outer(torch.arange(6.0), 10000.0 ** (-torch.arange(0, 8, 2) / 8))
    a, b = y[..., ::2], y[..., 1::2]
    return torch.stack((a * angles.cos() - b * angles.sin(),
                        a * angles.sin() + b * angles.cos()), -1).flatten(-2)


def sliding(y):
    """Attention of each position to itself and the two before it."""
    at = torch.arange(y.shape[1])
    far = (at[:, None] - at[None, :] > 2) | (at[:, None] < at[None, :])
    weights = (y @ y.transpose(1, 2)).masked_fill(far, float("-inf")).softmax(-1)
    return weights @ y


def linear_attention(y):
    kv = torch.einsum("bld,ble->bde", F.elu(y) + 1, y)
    return torch.einsum("bld,bde->ble", F.elu(y) + 1, kv)


if hasattr(F, "scaled_dot_product_attention"):
    then("scaled_dot_product_attention",
         lambda m, y: F.scaled_dot_product_attention(heads(y), heads(y), heads(y)), (6,))
    then("scaled_dot_product_attention, causal, with dropout",
         lambda m, y: F.scaled_dot_product_attention(heads(y), heads(y), heads(y), dropout_p=0.1,
                                                     is_causal=True), (6,))
    then("scaled_dot_product_attention with a mask",
         lambda m, y: F.scaled_dot_product_attention(heads(y), heads(y), heads(y), causal(y)), (6,))
then("multi-head attention", lambda m, y: m.part(y, y, y)[0], (6,),
     part=lambda: nn.MultiheadAttention(WIDTH, 2, dropout=0.1, batch_first=True))
then("multi-head attention without weights, masked",
     lambda m, y: m.part(y, y, y, attn_mask=causal(y), need_weights=False)[0], (6,),
     part=lambda: nn.MultiheadAttention(WIDTH, 2, batch_first=True))
then("multi-head attention with key padding, biases, other widths",
     lambda m, y: m.part(y, y[..., :4], y[..., :4],
                         key_padding_mask=torch.zeros(y.shape[:2], dtype=torch.bool))[0], (6,),
     part=lambda: nn.MultiheadAttention(WIDTH, 2, add_bias_kv=True, kdim=4, vdim=4,
                                        batch_first=True))
part("transformer encoder", lambda: nn.TransformerEncoder(
    nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True), 2), (6,))
part("transformer encoder, norm first", lambda: nn.TransformerEncoder(
    nn.TransformerEncoderLayer(WIDTH, 2, 16, activation="gelu", norm_first=True,
                               batch_first=True), 2, enable_nested_tensor=False), (6,))
then("transformer encoder with padding and a mask",
     lambda m, y: m.part(y, mask=causal(y), src_key_padding_mask=torch.zeros(y.shape[:2])), (6,),
     part=lambda: nn.TransformerEncoder(
         nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True), 1))
then("transformer decoder", lambda m, y: m.part(y, y, tgt_mask=causal(y)), (6,),
     part=lambda: nn.TransformerDecoder(
         nn.TransformerDecoderLayer(WIDTH, 2, 16, batch_first=True), 1))
then("rotary embedding", lambda m, y: rotated(y), (6,))
then("rotary embedding of complex numbers",
     lambda m, y: torch.view_as_real(torch.view_as_complex(y.unflatten(-1, (-1, 2))) *
                                     torch.polar(torch.ones(6, 4), torch.ones(6, 4))), (6,))
then("grouped-query attention",
     lambda m, y: (heads(y) @ heads(y)[:, :1].repeat_interleave(2, 1).transpose(-1, -2)).softmax(-1)
     @ heads(y)[:, :1].repeat_interleave(2, 1), (6,))
then("sliding-window attention", lambda m, y: sliding(y), (6,))
then("linear attention", lambda m, y: linear_attention(y), (6,))
then("relative position bias", lambda m, y: y.transpose(1, 2) @ (
    y @ y.transpose(1, 2) + m.table[(torch.arange(6)[:, None] - torch.arange(6) + 5)]).softmax(-1),
     (6,), table=lambda: nn.Parameter(torch.zeros(11)))
then("ALiBi", lambda m, y: (y @ y.transpose(1, 2) -
                            (torch.arange(6)[:, None] - torch.arange(6)).abs()).softmax(-1) @ y, (6,))


# Recurrence

part("LSTM", lambda: nn.LSTM(WIDTH, 4, 2, dropout=0.1, bidirectional=True, batch_first=True), (6,))
part("LSTM with projections", lambda: nn.LSTM(WIDTH, 6, proj_size=3, batch_first=True), (6,))
part("GRU", lambda: nn.GRU(WIDTH, 4, batch_first=True), (6,))
part("RNN", lambda: nn.RNN(WIDTH, 4, nonlinearity="relu", batch_first=True), (6,))
then("LSTM cell", lambda m, y: m.part(y)[0], part=lambda: nn.LSTMCell(WIDTH, 4))
then("GRU cell", lambda m, y: m.part(y, m.part(y)), part=lambda: nn.GRUCell(WIDTH, WIDTH))


then("state space scan", lambda m, y: torch.stack(
    [(y[:, :t + 1] * m.decay ** torch.arange(t, -1, -1)[:, None]).sum(1) for t in range(6)], 1),
     (6,), decay=lambda: nn.Parameter(torch.ones(WIDTH)))
then("cumulative sum", lambda m, y: y.cumsum(1) + torch.logcumsumexp(y, 1), (6,))


# Embedding, lookup and routing


def lookup(name, make, shape=(6,)):
    @block(name)
    def build(batch):
        table = make()
        return step(table, ids(batch, *shape))


lookup("embedding", lambda: nn.Embedding(16, WIDTH, padding_idx=0))
lookup("embedding scaled by frequency", lambda: nn.Embedding(16, WIDTH, scale_grad_by_freq=True))
lookup("embedding with a largest norm", lambda: nn.Embedding(16, WIDTH, max_norm=1.0))
lookup("bag of embeddings, sum", lambda: nn.EmbeddingBag(16, WIDTH, mode="sum"))
lookup("bag of embeddings, mean", lambda: nn.EmbeddingBag(16, WIDTH, mode="mean"))
lookup("bag of embeddings, maximum", lambda: nn.EmbeddingBag(16, WIDTH, mode="max"))
then("one hot", lambda m, y: y * F.one_hot(y.argmax(-1), WIDTH))
then("gather and scatter", lambda m, y: torch.zeros_like(y).scatter(
    1, y.argsort(1), y.gather(1, y.argsort(1))))
then("scatter add", lambda m, y: torch.zeros(3, WIDTH).scatter_add(
    0, ids(*y.shape), y) + torch.zeros(3, WIDTH).index_add(0, ids(y.shape[0]), y))
then("scatter reduce", lambda m, y: torch.zeros(y.shape[0], 3).scatter_reduce(
    1, ids(*y.shape), y, "amax"))
then("index select and put", lambda m, y: (y * 1).index_put(
    (torch.arange(y.shape[0]),), y).index_select(1, ids(3)).index_copy(1, ids(1), y[:, :1]))
then("indices of two lists", lambda m, y: y[torch.arange(y.shape[0]), y.argmax(1)])
then("take along and top k", lambda m, y: torch.take_along_dim(y, y.topk(2).indices, 1))
then("sort and median", lambda m, y: y.sort(1).values + y.median(1, keepdim=True).values)
then("assignment under a mask", lambda m, y: torch.where(y > 0, y, y.masked_fill(y < 0, 0.0)))


def mixture(model, y):
    """Top 2 of 4 experts, every expert on every token, weighted by its gate."""
    gates, chosen = model.gate(y).softmax(-1).topk(2, -1)
    weights = torch.zeros(y.shape[0], 4).scatter(1, chosen, gates)
    return sum(weights[:, i:i + 1] * expert(y) for i, expert in enumerate(model.experts))


def with_room(model, y):
    """Top 1 of 4 experts with room for three tokens each; the rest is dropped."""
    gate, chosen = model.gate(y).softmax(-1).max(-1)
    mask = F.one_hot(chosen, 4)
    place = ((mask.cumsum(0) - 1) * mask).sum(1)
    kept = (place < 3)
    slots = F.one_hot(chosen, 4).unsqueeze(2) * F.one_hot(place.clamp(max=2), 3).unsqueeze(1)
    slots = slots * kept[:, None, None]
    taken = torch.einsum("tec,td->ecd", slots.to(y.dtype), y)
    out = torch.stack([expert(taken[i]) for i, expert in enumerate(model.experts)])
    return torch.einsum("tec,ecd->td", slots.to(y.dtype), out) * gate[:, None]


for name, route in (("mixture of experts, top 2", mixture),
                    ("mixture of experts with limited room", with_room)):
    then(name, route, gate=lambda: nn.Linear(WIDTH, 4),
         experts=lambda: nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4)))
then("Gumbel softmax", lambda m, y: F.gumbel_softmax(y, hard=True))
then("vector quantisation, straight through",
     lambda m, y: y + (m.book[torch.cdist(y, m.book).argmin(1)] - y).detach() +
     F.mse_loss(m.book[torch.cdist(y, m.book).argmin(1)], y.detach()),
     book=lambda: nn.Parameter(torch.zeros(5, WIDTH)))


# Convolution, pooling, images

image("convolution, grouped and dilated", lambda m, y: m.part(y), part=lambda: nn.Conv2d(
    WIDTH, WIDTH, 3, padding=2, dilation=2, groups=4, padding_mode="reflect"))
image("transposed convolution", lambda m, y: m.part(y), part=lambda: nn.ConvTranspose2d(
    WIDTH, 4, 3, stride=2, output_padding=1))
image("channels last", lambda m, y: m.part(y.to(memory_format=torch.channels_last)),
      part=lambda: nn.Conv2d(WIDTH, 4, 3).to(memory_format=torch.channels_last))
image("pooling to one place, channels last",
      lambda m, y: F.adaptive_avg_pool2d(m.part(y.to(memory_format=torch.channels_last)), 1),
      part=lambda: nn.Conv2d(WIDTH, 4, 3).to(memory_format=torch.channels_last))
then("convolution of a sequence and of a volume",
     lambda m, y: m.line(y).sum() + m.volume(y[:, None, None]).sum(), (6,),
     line=lambda: nn.Conv1d(6, 4, 3), volume=lambda: nn.Conv3d(1, 2, (1, 3, 3)))
image("pooling", lambda m, y: F.max_pool2d(y, 2) + F.avg_pool2d(y, 2) + F.lp_pool2d(y, 2, 2))
image("adaptive pooling", lambda m, y: F.adaptive_avg_pool2d(y, (4, 3)).sum() +
      F.adaptive_max_pool2d(y, 4).sum())
image("fractional pooling and unpooling", lambda m, y: F.max_unpool2d(
    *F.max_pool2d(y, 2, return_indices=True), 2).sum() + F.fractional_max_pool2d(y, 2, (3, 4)))
for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
    image(f"interpolation, {mode}", lambda m, y, mode=mode: F.interpolate(
        y, scale_factor=2, mode=mode))
image("interpolation to a size, corners aligned, antialiased",
      lambda m, y: F.interpolate(y, (9, 5), mode="bilinear", align_corners=True) +
      F.interpolate(y, (9, 5), mode="bilinear", antialias=True))
image("interpolation of lines and volumes", lambda m, y: F.interpolate(
    y.flatten(2), scale_factor=2, mode="linear").sum() +
    F.interpolate(y[:, None], scale_factor=2, mode="trilinear").sum())
image("grid sample", lambda m, y: F.grid_sample(
    y, F.affine_grid(m.theta.expand(y.shape[0], 2, 3), list(y.shape), align_corners=False),
    align_corners=False), theta=lambda: nn.Parameter(torch.zeros(1, 2, 3)))
image("unfold and fold", lambda m, y: F.fold(F.unfold(y, 3, padding=1), (6, 6), 3, padding=1))
image("windows by unfold", lambda m, y: y.unfold(2, 2, 2).unfold(3, 2, 2).mean((-1, -2)))
image("pixel shuffle",
      lambda m, y: F.pixel_shuffle(F.pixel_unshuffle(y, 2), 2))
for mode in ("constant", "reflect", "replicate", "circular"):
    image(f"padding, {mode}", lambda m, y, mode=mode: F.pad(y, (1, 2, 2, 1), mode=mode))
image("roll, flip, rotation, triangle", lambda m, y: y.roll((1, 2), (2, 3)).flip(3).rot90(
    1, (2, 3)).tril())


# Activations, dropout, in-place

then("activations", lambda m, y: sum(f(y) for f in (
    F.relu, F.gelu, F.silu, F.mish, F.elu, F.celu, F.selu, F.softplus, F.hardswish, F.hardtanh,
    F.hardsigmoid, F.leaky_relu, F.logsigmoid, F.softsign, F.tanhshrink, F.softshrink,
    F.hardshrink, F.relu6, torch.tanh, torch.sigmoid, torch.erf)))
then("GELU with tanh, PReLU, RReLU, GLU, SwiGLU",
     lambda m, y: F.glu(m.prelu(F.rrelu(F.gelu(y, approximate="tanh"), training=True))).repeat(
         1, 2) + F.silu(y) * y, prelu=lambda: nn.PReLU(WIDTH))
then("softmax kinds", lambda m, y: y.softmax(-1) + F.log_softmax(y, 1) + F.softmin(y, -1))
then("dropout", lambda m, y: F.dropout(y, 0.5) + F.alpha_dropout(y, 0.1, True))
image("dropout of features", lambda m, y: F.dropout2d(y, 0.5) + F.feature_alpha_dropout(y, 0.5, True))
then("stochastic depth",
     lambda m, y: y + y * torch.empty(y.shape[0], 1).bernoulli_(0.9).div_(0.9))
then("in-place activations and sums", lambda m, y: F.relu((y * 2).add_(1), inplace=True).add(y).mul_(2))
then("random numbers", lambda m, y: y + torch.randn_like(y) * torch.rand(y.shape[0], 1) +
     torch.randint(0, 5, (WIDTH,)) + torch.randperm(WIDTH))
then("distributions", lambda m, y: torch.distributions.kl_divergence(
    torch.distributions.Normal(y, y.exp()), torch.distributions.Normal(0.0, 1.0)) +
     torch.distributions.Categorical(logits=y).entropy()[:, None] +
     torch.distributions.Normal(y, y.exp()).rsample())
then("reparametrization", lambda m, y: y[:, :4] + (0.5 * y[:, 4:]).exp() * torch.randn_like(
    y[:, 4:]))


# Checkpointing


def checkpointed(name, reentrant, call, shape=(), **parts):
    """A block that checkpoints: call(model, y, run), where run(function, *arguments) does it."""
    def run(function, *arguments, **options):
        return checkpoint(function, *arguments, use_reentrant=reentrant, **options)

    then(f"checkpoint {name}, {'' if reentrant else 'not '}reentrant",
         lambda model, y: call(model, y, run), shape, **parts)


for reentrant in (True, False):
    checkpointed("of a module", reentrant, lambda m, y, run: run(m.part, y),
                 part=lambda: nn.Linear(WIDTH, WIDTH))
    checkpointed("with a parameter as argument", reentrant,
                 lambda m, y, run: run(F.linear, y, m.weight, m.bias),
                 weight=lambda: nn.Parameter(torch.zeros(4, WIDTH)),
                 bias=lambda: nn.Parameter(torch.zeros(4)))
    checkpointed("with a parameter as only argument", reentrant,
                 lambda m, y, run: y * run(torch.exp, m.scale),
                 scale=lambda: nn.Parameter(torch.ones(WIDTH)))
    checkpointed("with a buffer and a number as arguments", reentrant,
                 lambda m, y, run: run(lambda a, b, c: a * b * c, y, m.part.running_mean, 2.0),
                 part=lambda: nn.BatchNorm1d(WIDTH))
    checkpointed("of dropout and batch norm", reentrant,
                 lambda m, y, run: run(lambda a: m.part(F.dropout(a, 0.5)), y),
                 part=lambda: nn.BatchNorm1d(WIDTH))
    checkpointed("inside of another", reentrant,
                 lambda m, y, run: run(lambda a: run(m.part, a).relu(), y),
                 part=lambda: nn.Linear(WIDTH, WIDTH))
    checkpointed("that keeps no random state, of two results", reentrant,
                 lambda m, y, run: run(lambda a: (m.part(a), a * 2), y,
                                       preserve_rng_state=False)[0],
                 part=lambda: nn.Linear(WIDTH, WIDTH))
then("checkpointed sequence", lambda m, y: torch.utils.checkpoint.checkpoint_sequential(
    m.part, 2, y), part=lambda: nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(4))))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient * ctx.saved_tensors[0]


then("own autograd function", lambda m, y: Square.apply(y))
then("gradient penalty", lambda m, y: torch.autograd.grad(
    m.part(y).tanh().sum(), y, create_graph=True)[0], part=lambda: nn.Linear(WIDTH, WIDTH))


# Algebra

then("einsum", lambda m, y: torch.einsum("bij,jk,bik->bi", y, m.weight, y), (6,),
     weight=lambda: nn.Parameter(torch.zeros(WIDTH, WIDTH)))
then("bilinear", lambda m, y: m.part(y, y), part=lambda: nn.Bilinear(WIDTH, WIDTH, 3))
then("Fourier transform", lambda m, y: torch.fft.irfft(
    torch.fft.rfft(y) * m.filter, n=WIDTH) + torch.fft.fft2(y).real, (6,),
     filter=lambda: nn.Parameter(torch.zeros(5, dtype=torch.complex64)))
then("spectrogram", lambda m, y: torch.stft(
    y.flatten(1), 16, 8, window=torch.ones(16), return_complex=True).abs(), (6,))
then("complex layer", lambda m, y: torch.complex(y, y) @ m.weight,
     weight=lambda: nn.Parameter(torch.zeros(WIDTH, 4, dtype=torch.complex64)))
then("norms and distances", lambda m, y: torch.linalg.norm(y, dim=1, keepdim=True) +
     F.cosine_similarity(y, y)[:, None] + F.pairwise_distance(y, y + 1)[:, None])
then("mean distance of two samples", lambda m, y: torch.cdist(y, y).mean())
then("linear algebra", lambda m, y: torch.linalg.inv(y.transpose(1, 2) @ y) +
     torch.linalg.cholesky(y.transpose(1, 2) @ y) + torch.linalg.qr(y.transpose(1, 2) @ y)[0], (6,))
then("singular and eigenvalues", lambda m, y: torch.linalg.svdvals(y).sum() +
     torch.linalg.eigvalsh(y.transpose(1, 2) @ y).sum() + torch.linalg.slogdet(
         y.transpose(1, 2) @ y)[1].sum(), (6,))
then("solving", lambda m, y: torch.linalg.solve(y.transpose(1, 2) @ y, y.transpose(1, 2)), (6,))
then("batched products", lambda m, y: torch.baddbmm(y, y @ y.transpose(1, 2), y) +
     torch.kron(torch.ones(1, 1), y[0]), (6,))
then("statistics", lambda m, y: y.std(1) + y.var(1) + y.logsumexp(1) + y.amax(1) + y.norm(dim=1))
then("products", lambda m, y: y.prod(1))
then("quantile", lambda m, y: y.quantile(0.5, 1))
then("shapes", lambda m, y: torch.cat((torch.stack((y, y), 1), torch.tile(y[:, None], (1, 2, 1)),
                                       *y[:, None].chunk(1)), 1).movedim(1, 2).flip(0))


# Mixed precision


def half(y, layer):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return layer(F.layer_norm(y @ layer.weight, (WIDTH,))).softmax(-1)


then("autocast to bfloat16", lambda m, y: half(y, m.part).float(),
     part=lambda: nn.Linear(WIDTH, WIDTH))


def half_on_a_gpu(y, layer):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return layer(y)


then("autocast of a GPU", lambda m, y: half_on_a_gpu(y, m.part).float(),
     part=lambda: nn.Linear(WIDTH, WIDTH))


@block("model of bfloat16")
def _(batch):
    model = Model(lambda m, y: m.part(y), part=nn.LayerNorm(WIDTH)).to(torch.bfloat16)
    return step(model, torch.zeros(batch, WIDTH, dtype=torch.bfloat16), lambda y: y.float().mean(),
                optimizer=torch.optim.AdamW(model.parameters()))


@block("scaled loss, unscaled by the optimizer")
def _(batch):
    class Unscaled(torch.optim.SGD):
        @torch.no_grad()
        def step(self, closure=None):
            for parameter in self.param_groups[0]["params"]:
                parameter.grad.mul_(1 / 1024)
            super().step()

    model = Model(lambda m, y: y)
    return step(model, torch.zeros(batch, WIDTH), lambda y: y.mean() * 1024,
                optimizer=Unscaled(model.parameters(), lr=0.1))


# Updates


def clipped(kind, clip, **options):
    """An optimizer that clips the gradients first."""
    class Clipped(kind):
        @torch.no_grad()
        def step(self, closure=None):
            clip(self.param_groups[0]["params"])
            super().step()
    return lambda model: Clipped(model.parameters(), **options)


class Averaged(torch.optim.SGD):
    """SGD that keeps an exponential moving average of the weights in its state."""

    @torch.no_grad()
    def step(self, closure=None):
        super().step()
        for parameter in self.param_groups[0]["params"]:
            state = self.state[parameter]
            if "average" not in state:
                state["average"] = parameter.clone()
            state["average"].lerp_(parameter, 0.01)


def scheduled(schedule):
    def make(model):
        made = torch.optim.AdamW(model.parameters(), lr=0.1)
        schedule(made)
        return made
    return make


for kind in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adadelta", "Adamax",
             "ASGD", "Rprop"):
    optimizer(kind, lambda m, kind=kind: getattr(torch.optim, kind)(m.parameters(), lr=0.1))
for kind in ("SGD", "Adam", "AdamW", "RMSprop"):
    optimizer(f"{kind} on lists", lambda m, kind=kind: getattr(torch.optim, kind)(
        m.parameters(), lr=0.1, foreach=True))
optimizer("SGD with Nesterov momentum", lambda m: torch.optim.SGD(
    m.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1))
optimizer("AMSGrad", lambda m: torch.optim.Adam(m.parameters(), amsgrad=True, maximize=True))
optimizer("centred RMSprop", lambda m: torch.optim.RMSprop(
    m.parameters(), centered=True, momentum=0.9))
optimizer("groups of parameters", lambda m: torch.optim.AdamW(
    [{"params": m.layer.parameters(), "weight_decay": 0.0}, {"params": m.norm.parameters()}]))
optimizer("clipped by norm", clipped(torch.optim.SGD, lambda p: nn.utils.clip_grad_norm_(p, 1.0),
                                     lr=0.1))
optimizer("clipped by value", clipped(torch.optim.Adam, lambda p: nn.utils.clip_grad_value_(p, 1.0)))
optimizer("moving average", lambda m: Averaged(m.parameters(), lr=0.1))
optimizer("step schedule", scheduled(lambda o: torch.optim.lr_scheduler.StepLR(o, 10)))
optimizer("cosine schedule", scheduled(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 10)))
optimizer("one cycle", scheduled(lambda o: torch.optim.lr_scheduler.OneCycleLR(
    o, max_lr=0.1, total_steps=100)))
optimizer("warm-up by a function", scheduled(lambda o: torch.optim.lr_scheduler.LambdaLR(
    o, lambda t: min(1.0, t / 10))))


@block("gradient hook")
def _(batch):
    model = Model(lambda m, y: y)
    model.layer.weight.register_hook(lambda gradient: gradient.clamp(-1, 1))
    return step(model, torch.zeros(batch, WIDTH))


@block("frozen layer")
def _(batch):
    model = Model(lambda m, y: m.part(y), part=nn.Linear(WIDTH, 2))
    model.layer.requires_grad_(False)
    return step(model, torch.zeros(batch, WIDTH), optimizer=torch.optim.Adam(
        (p for p in model.parameters() if p.requires_grad)))


@block("low-rank adapter")
def _(batch):
    model = Model(lambda m, y: y + y @ m.down @ m.up, down=nn.Parameter(torch.zeros(WIDTH, 2)),
                  up=nn.Parameter(torch.zeros(2, WIDTH)))
    model.layer.requires_grad_(False)
    return step(model, torch.zeros(batch, WIDTH),
                optimizer=torch.optim.AdamW([model.down, model.up]))


@block("tied weights")
def _(batch):
    model = nn.Sequential(nn.Embedding(16, WIDTH), nn.Linear(WIDTH, 16, bias=False))
    model[1].weight = model[0].weight
    return step(model, ids(batch, 6))


@block("teacher without gradients")
def _(batch):
    def distilled(model, y):
        with torch.no_grad():
            wanted = model.teacher(y)
        return F.mse_loss(y, wanted)
    model = Model(distilled, teacher=nn.Linear(WIDTH, WIDTH))
    return step(model, torch.zeros(batch, WIDTH), lambda y: y,
                optimizer=torch.optim.SGD(model.layer.parameters(), lr=0.1))


@block("several inputs by keyword, one of them a mask")
def _(batch):
    class Masked(Model):
        def forward(self, x, mask):
            return self.layer(x).masked_fill(mask, 0.0)
    return step(Masked(None), {"x": torch.zeros(batch, WIDTH),
                               "mask": torch.zeros(batch, WIDTH, dtype=torch.bool)})


# What depends on data

if hasattr(torch.optim, "Adafactor"):
    @block("Adafactor")
    def _(batch):
        model = Model(lambda m, y: y)
        return step(model, torch.zeros(batch, WIDTH),
                    optimizer=torch.optim.Adafactor(model.parameters()))

VALUE, SIZE = ["depends on its data", "reads a value"], ["depends on its data", "size depends"]
refused("condition", VALUE, lambda m, y: y if y.sum() > 0 else -y)
refused("number of an element", VALUE, lambda m, y: y * y.max().item())
refused("mask as index", SIZE, lambda m, y: y[y > 0])
refused("places of what is not zero", SIZE, lambda m, y: y[y.sum(1).nonzero().squeeze(1)])
refused("unique values", SIZE, lambda m, y: y.sum() + torch.unique(y).sum())
refused("tokens of each expert", SIZE, lambda m, y: y[torch.where(y.argmax(1) == 0)[0]])
refused("repetition by values", SIZE, lambda m, y: torch.repeat_interleave(
    y, y[:, 0].long(), dim=0))
refused("packed sequences", ["depends on its data", "padded", "mask"],
        lambda m, y: nn.utils.rnn.pack_padded_sequence(y, torch.full((y.shape[0],), 6)).data, (6,))
refused("list of values", ["depends on its data"], lambda m, y: y * len(y.tolist()))
refused("NumPy", ["leaves PyTorch"], lambda m, y: y * float(y.detach().numpy().sum()))
