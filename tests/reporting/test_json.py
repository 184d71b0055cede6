import json
import math
from dataclasses import replace

import jsonschema
import pytest

from kernelcast.models.mwp_cwp import MwpCwp
from kernelcast.profiling.profile import BlockSample
from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.predict import predict_document, predict_schema
from kernelcast.reporting.documents.result import result
from kernelcast.reporting.printed import Forecast


def validate(document):
    jsonschema.validate(document, predict_schema(), cls=jsonschema.Draft202012Validator)


def test_the_document_follows_its_schema(prediction, elsewhere):
    document = as_json(predict_document([prediction, elsewhere]))
    validate(document)
    json.dumps(document, allow_nan=False)


def test_the_schema_refuses_a_document_without_a_time(prediction):
    document = as_json(predict_document([prediction]))
    del document["results"][0]["time_s"]
    with pytest.raises(jsonschema.ValidationError, match="time_s"):
        validate(document)


def test_the_schema_refuses_an_unknown_bottleneck(prediction):
    document = as_json(predict_document([prediction]))
    document["results"][0]["bottleneck"] = "bad luck"
    with pytest.raises(jsonschema.ValidationError, match="bad luck"):
        validate(document)


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(predict_schema())


def test_names_that_other_tools_hold_on_to(prediction):
    document = as_json(predict_document([prediction]))
    assert document["schema"] == "kernelcast/predict/1"
    found = document["results"][0]
    promised = {
        "kernel", "launch", "gpu", "model", "isa", "time_s", "cycles", "low_s", "high_s",
        "bottleneck", "breakdown", "occupancy", "traffic", "counts", "sampled", "assumptions",
        "not_modelled", "warnings", "provenance",
    }  # fmt: skip
    assert promised <= found.keys()
    assert found["launch"].keys() >= {"grid", "block", "smem", "blocks", "threads"}
    assert found["breakdown"][0].keys() >= {"name", "cycles", "fraction"}
    assert found["occupancy"].keys() >= {
        "blocks_per_sm", "warps_per_sm", "relative", "limiter", "waves",
    }  # fmt: skip
    assert found["traffic"].keys() >= {"l1_bytes", "l2_bytes", "dram_bytes"}
    assert found["sampled"].keys() >= {"blocks", "of"}


def test_values(prediction):
    found = as_json(result(prediction))
    assert (found["kernel"], found["gpu"], found["time_s"]) == ("saxpy", "h100-sxm", 5e-6)
    assert found["bottleneck"] == "dram bandwidth"
    assert found["launch"]["threads"] == 1 << 20
    assert found["counts"]["fp32"] == {"warp": 32768.0, "thread": 1048576.0}
    assert found["traffic"]["global_requested_bytes"] == 3 * 4 * (1 << 20)
    assert sum(part["cycles"] for part in found["breakdown"]) == found["cycles"]
    assert sum(part["fraction"] for part in found["breakdown"]) == pytest.approx(1)


def test_what_has_no_figure_is_null(prediction):
    profile = replace(prediction.case.profile, sample=BlockSample(1, 4096, math.nan))
    case = replace(prediction.case, profile=profile)
    unknown = replace(prediction, case=case, high_s=math.inf, terms={"x": math.nan})
    document = as_json(predict_document([unknown]))
    validate(document)
    found = document["results"][0]
    assert found["high_s"] is None
    assert found["sampled"]["spread"] is None
    assert found["terms"] == {"x": None}


def test_one_launch_is_no_workload(prediction, elsewhere):
    document = as_json(predict_document([prediction, elsewhere]))
    assert "total_time_s" not in document
    assert "totals" not in document


def test_a_workload_on_one_gpu_has_a_total(prediction):
    thrice = replace(prediction.case.launch, repeat=3)
    repeated = replace(prediction, case=replace(prediction.case, launch=thrice))
    document = as_json(predict_document([prediction, repeated]))
    validate(document)
    assert document["total_time_s"] == pytest.approx(4 * 5e-6)
    assert document["totals"] == [
        {
            "gpu": "h100-sxm",
            "model": "roofline",
            "total_time_s": pytest.approx(4 * 5e-6),
            "model_label": "roofline",
        }
    ]


def test_a_workload_on_two_gpus_has_two_totals(prediction, elsewhere):
    document = as_json(predict_document([prediction, prediction, elsewhere, elsewhere]))
    validate(document)
    assert "total_time_s" not in document
    assert [t["gpu"] for t in document["totals"]] == ["h100-sxm", "a100-sxm-80gb"]


def test_a_forecast_prints_its_report_and_turns_into_the_same_dictionary(prediction):
    forecast = Forecast.of(prediction)
    assert str(forecast).startswith("saxpy<<<4096, 256>>> on h100-sxm: 5.00 us")
    assert forecast.as_dict() == as_json(result(prediction))


def test_the_parameters_of_the_model_are_told(prediction):
    printed = replace(prediction, model=MwpCwp(comp_over_mem_equation=23))
    found = as_json(result(printed))
    assert (found["model"], found["model_parameters"]) == (
        "mwp-cwp",
        {"comp_over_mem_equation": 23},
    )
    assert found["model_label"] == "mwp-cwp:comp_over_mem_equation=23"
    assert found["not_modelled"] == list(MwpCwp.not_modelled)
    assert as_json(result(replace(prediction, model=MwpCwp())))["model_label"] == "mwp-cwp"


def test_two_settings_of_a_model_are_two_answers(prediction):
    models = (MwpCwp(), MwpCwp(comp_over_mem_equation=23))
    document = predict_document([replace(prediction, model=model) for model in models])
    assert document.totals == []
    assert document.overview is not None
