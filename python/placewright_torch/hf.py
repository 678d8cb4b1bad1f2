"""A training step of a model of transformers from its configuration: `hf:FOLDER` or `hf:FILE`.

The model is built by the class that the configuration names (`architectures`), or by transformers'
Auto class for its kind, with no weights; nothing is fetched. Example inputs and labels have the
sizes of the configuration: words for language models, images for vision, sound for speech.
"""

import inspect
import json
import os

from . import compat
from .errors import ConfigurationError, MissingTorchError

torch = compat.torch

BATCH = 8
SEQUENCE = 1024  # words, where the configuration allows as many
SOUND = 160000  # samples of a sound: 10 seconds
FRAMES = 1000  # of its spectrum, where the model takes any number
SOUND_LABELS = 64
IMAGE = 224
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
OPTIMIZERS = ("adamw", "sgd", "none")

# Kinds of models, those that most configurations mean in front; names of Auto classes.
TASKS = {
    "causal-lm": "AutoModelForCausalLM", "seq2seq-lm": "AutoModelForSeq2SeqLM",
    "speech-seq2seq": "AutoModelForSpeechSeq2Seq", "ctc": "AutoModelForCTC",
    "image-text-to-text": "AutoModelForImageTextToText", "masked-lm": "AutoModelForMaskedLM",
    "image-classification": "AutoModelForImageClassification",
    "object-detection": "AutoModelForObjectDetection",
    "semantic-segmentation": "AutoModelForSemanticSegmentation",
    "audio-classification": "AutoModelForAudioClassification",
    "sequence-classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
    "question-answering": "AutoModelForQuestionAnswering",
    "masked-image-modeling": "AutoModelForMaskedImageModeling",
    "depth-estimation": "AutoModelForDepthEstimation",
    "universal-segmentation": "AutoModelForUniversalSegmentation",
    "video-classification": "AutoModelForVideoClassification",
    "pretraining": "AutoModelForPreTraining", "model": "AutoModel",
}
ONE_LABEL = ("SequenceClassification", "ImageClassification", "AudioClassification",
             "VideoClassification", "ForXVector")


def _transformers():
    try:
        import transformers
    except ImportError as error:
        raise MissingTorchError(
            f"transformers cannot be imported ({error}), which hf: models are built with: "
            "`pip install transformers` for this Python, or name another Python, for `placewright` "
            "by PLACEWRIGHT_PYTHON=/path/to/python3") from error
    transformers.logging.set_verbosity_error()
    return transformers


def read_config(path):
    """(the configuration as a dict, the model's name) of a folder or a file."""
    file = os.path.join(path, "config.json") if os.path.isdir(path) else path
    if not os.path.isfile(file):
        raise ConfigurationError(f"hf:{path}: there is no file {file}; name a folder with a config.json, or "
                          "such a file. Nothing is fetched: download it from the model's page")
    try:
        with open(file, encoding="utf-8") as text:
            values = json.load(text)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"hf:{path}: {file} is no JSON: {error}") from error
    if not isinstance(values, dict) or not isinstance(values.get("model_type"), str):
        raise ConfigurationError(f"hf:{path}: {file} has no \"model_type\", as a configuration of "
                          "transformers has; of other libraries record a model by a function")
    name = os.path.basename(os.path.abspath(file))
    if name == "config.json":
        name = os.path.basename(os.path.dirname(os.path.abspath(file)))
    return values, os.path.splitext(name)[0] if name.endswith(".json") else name


class Builder:
    """Makes the step of a configuration; a call gives what export() takes."""

    def __init__(self, path, task=None, batch=None, sequence=None, optimizer="adamw", dtype=None,
                 lora=None):
        self._transformers = _transformers()
        self._values, self.model_name = read_config(path)
        self.__name__ = f"hf:{path}"
        self._task, self._sequence = task, sequence
        self._optimizer, self._dtype, self._lora = optimizer, dtype, lora
        self.batch = BATCH if batch is None else batch
        kind = self._values["model_type"]
        if kind not in self._transformers.CONFIG_MAPPING:
            raise ConfigurationError(
                f"{self.__name__}: transformers {self._transformers.__version__} has no model of type "
                f"\"{kind}\"; use a newer one (pip install -U transformers), or record the model by "
                "a function, if its code is not part of transformers")

    def __call__(self, **settings):
        config = self._config(settings)
        model = self._model(config)
        inputs = Inputs(model, config, self.batch, self._sequence).made()
        if self._lora is not None:
            model = _with_adapters(model, self._lora)
        model.train()
        parameters = [p for p in model.parameters() if p.requires_grad]
        optimizer = {"adamw": lambda: torch.optim.AdamW(parameters, lr=1e-4),
                     "sgd": lambda: torch.optim.SGD(parameters, lr=1e-2, momentum=0.9),
                     "none": lambda: None}[self._optimizer]()
        has_loss = any(key in inputs for key in ("labels", "start_positions", "return_loss"))
        return {"model": model, "example_inputs": inputs, "optimizer": optimizer,
                "loss": None if has_loss else mean_of_outputs,
                "batch": self.batch, "name": self.model_name,
                "frozen_weights": self._stored(config)}

    def _config(self, settings):
        values = {**self._values, "use_cache": False}
        for key, value in settings.items():
            *outer, last = key.split(".")
            place = values
            for part in outer:
                place = place.setdefault(part, {})
            place[last] = value
        for part in ("decoder", "text_config"):
            if isinstance(values.get(part), dict):
                values[part] = {**values[part], "use_cache": False}
        config = self._transformers.CONFIG_MAPPING[values["model_type"]].from_dict(values)
        if hasattr(config, "apply_spec_augment"):
            config.apply_spec_augment = False  # its masks are drawn outside of PyTorch
        for key in ("pad_token_id", "decoder_start_token_id"):
            if config.is_encoder_decoder and getattr(config, key, None) is None:
                setattr(config, key, 0)  # what labels are shifted with
        return config

    def _stored(self, config):
        """How the configuration says that weights are stored, as one of stored.FORMATS, or None."""
        given = getattr(config, "quantization_config", None) or {}
        given = given if isinstance(given, dict) else given.to_dict()
        stored = given.get("load_in_8bit") or given.get("load_in_4bit")
        if given and not stored:
            method = given.get("quant_method", "its quantization_config")
            raise ConfigurationError(
                f"{self.__name__}: weights stored as {method} cannot be recorded; for the model with all its weights "
                "--set quantization_config=null, for adapters on weights in 4 bits also --lora RANK "
                "--frozen-weights nf4")
        if stored and self._lora is None:
            raise ConfigurationError(
                f"{self.__name__}: weights in 4 or 8 bits cannot be trained themselves: add adapters with --lora "
                "RANK, or leave them out with --set quantization_config=null")
        if given.get("load_in_8bit"):
            return "int8"
        if not stored:
            return None
        double = given.get("bnb_4bit_use_double_quant")
        return given.get("bnb_4bit_quant_type", "fp4") + ("-double" if double else "")

    def _model(self, config):
        kind = self._class(config)
        dtype = DTYPES.get(self._dtype) or getattr(config, "dtype", None) or torch.float32
        return kind._from_config(config, dtype=dtype)

    def _class(self, config):
        library = self._transformers
        if self._task is None:
            for name in config.architectures or ():
                if hasattr(library, name):
                    return getattr(library, name)
        tasks = TASKS if self._task is None else {self._task: TASKS[self._task]}
        for auto in tasks.values():
            mapping = getattr(getattr(library, auto, None), "_model_mapping", {})
            if type(config) in mapping:
                kind = mapping[type(config)]
                return kind[0] if isinstance(kind, (list, tuple)) else kind
        raise ConfigurationError(f"{self.__name__}: transformers has no {self._task or 'model'} for models "
                          f"of type \"{config.model_type}\"")


def _with_adapters(model, rank):
    try:
        import peft
    except ImportError as error:
        raise MissingTorchError(f"peft cannot be imported ({error}), which makes the adapters of "
                                "--lora: `pip install peft` for this Python") from error
    adapters = peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    return peft.get_peft_model(model, adapters)


def mean_of_outputs(output):
    """A loss for models that have none: the mean of each floating output, summed."""
    from .fakes import tensors_of
    return sum(tensor.float().mean() for tensor in tensors_of(output)
               if tensor.is_floating_point() and tensor.requires_grad)


def _source(model):
    try:
        return inspect.getsource(type(model).forward)
    except (OSError, TypeError):
        return ""


class Inputs:
    """Example inputs and labels of a model by the arguments of its forward()."""

    def __init__(self, model, config, batch, sequence):
        self._kind = type(model).__name__
        self._config = config
        self._text = config.get_text_config()
        self._batch = batch
        self._takes = dict(inspect.signature(model.forward).parameters)
        # Models of transformers that take labels only to refuse them (depth estimation) say so in their code alone.
        if "raise NotImplementedError(\"Training is not implemented" in _source(model):
            self._takes.pop("labels", None)
        self._main = model.main_input_name
        self._dtype = next((p.dtype for p in model.parameters() if p.is_floating_point()),
                           torch.float32)
        self._sequence = sequence

    def made(self):
        maker = {"pixel_values": self._vision, "input_values": self._sound,
                 "input_features": self._spectrum, "input_ids": self._words}.get(self._main)
        if maker is None:
            raise ConfigurationError(f"{self._kind} takes \"{self._main}\", for which there is no rule here; "
                              "record it by a function that makes its inputs")
        inputs = maker()
        if "return_loss" in self._takes and "labels" not in inputs:
            inputs["return_loss"] = True
        return inputs

    # Words

    def _length(self):
        longest = next((getattr(self._text, name) for name in (
            "max_position_embeddings", "n_positions", "max_target_positions", "max_sequence_length")
            if isinstance(getattr(self._text, name, None), int)), SEQUENCE)
        longest = longest if longest > 0 else SEQUENCE
        return min(SEQUENCE, longest) if self._sequence is None else self._sequence

    def _integers(self, *sizes):
        return torch.zeros((self._batch, *sizes), dtype=torch.int64)

    def _words(self):
        words = self._length()
        inputs = {"input_ids": self._integers(words)}
        if "pixel_values" in self._takes and (hasattr(self._config, "vision_config") or
                                              hasattr(self._config, "image_size")):
            inputs["pixel_values"] = self._images()
        if "MultipleChoice" in self._kind:
            inputs = {"input_ids": self._integers(2, words)}
        return {**inputs, **self._labels(words)}

    def _labels(self, words):
        if "start_positions" in self._takes:
            return {"start_positions": self._integers(), "end_positions": self._integers()}
        if "labels" not in self._takes:
            return {}
        if "QuestionAnswering" in self._kind and "pixel_values" in self._takes:  # how good each answer is
            answers = torch.zeros((self._batch, self._config.num_labels), dtype=self._dtype)
            return {"labels": answers}
        single = any(name in self._kind for name in (*ONE_LABEL, "MultipleChoice", "NextSentence"))
        labels = {"labels": self._integers(*(() if single else (words,)))}
        if "next_sentence_label" in self._takes:
            labels["next_sentence_label"] = self._integers()
        return labels

    # Images

    def _images(self):
        config = next((part for part in (getattr(self._config, name, None) for name in (
            "vision_config", "encoder")) if part is not None), self._config)
        size = getattr(config, "image_size", None) or getattr(self._config, "image_size", None) or IMAGE
        height, width = size if isinstance(size, (list, tuple)) else (size, size)
        channels = getattr(config, "num_channels", None) or 3
        frames = getattr(config, "num_frames", None)
        sizes = (frames,) if frames else ()
        return torch.zeros((self._batch, *sizes, channels, height, width), dtype=self._dtype)

    def _vision(self):
        images = self._images()
        inputs = {"pixel_values": images}
        if "input_ids" in self._takes:
            inputs["input_ids"] = self._integers(self._length())
        if "labels" not in self._takes:
            return inputs
        if "Detection" in self._kind or "InstanceSegmentation" in self._kind:
            return inputs  # matching boxes with labels depends on the data
        if "Segmentation" in self._kind or "DepthEstimation" in self._kind:
            return {**inputs, "labels": self._integers(*images.shape[-2:])}
        if any(name in self._kind for name in ONE_LABEL):
            return {**inputs, "labels": self._integers()}
        if "ConditionalGeneration" in self._kind or "EncoderDecoder" in self._kind:
            return {**inputs, "labels": self._integers(self._length())}
        return inputs

    # Sound

    def _sound(self):
        samples = SOUND if self._sequence is None else self._sequence
        inputs = {"input_values": torch.zeros((self._batch, samples), dtype=self._dtype)}
        if hasattr(self._config, "max_length") and hasattr(self._config, "num_mel_bins"):
            sizes = (self._batch, self._config.max_length, self._config.num_mel_bins)
            inputs = {"input_values": torch.zeros(sizes, dtype=self._dtype)}
        return {**inputs, **self._sound_labels()}

    def _spectrum(self):
        bins = next((getattr(self._config, name) for name in (
            "num_mel_bins", "feature_projection_input_dim", "input_feat_per_channel")
            if getattr(self._config, name, None)), 80)
        frames = 2 * getattr(self._config, "max_source_positions", 1500)
        sizes = (bins, frames) if "Whisper" in self._kind else (min(frames, FRAMES), bins)
        return {"input_features": torch.zeros((self._batch, *sizes), dtype=self._dtype),
                **self._sound_labels()}

    def _sound_labels(self):
        if "labels" not in self._takes:
            return {}
        if any(name in self._kind for name in ONE_LABEL):
            return {"labels": self._integers()}
        longest = getattr(self._config, "max_target_positions", None) or SOUND_LABELS
        return {"labels": self._integers(min(SOUND_LABELS, longest))}
