"""References in templates: found, and replaced wherever they stand."""

from __future__ import annotations

from cdk.emulated.references import iterate_references, resolve_references

VALUE = {
    "Ref": {"Ref": "Queue"},
    "GetAtt": [{"Fn::GetAtt": ["Queue", "Arn"]}, {"Fn::GetAtt": "Proxy.Endpoint.Address"}],
    "Sub": {"Fn::Sub": "${Queue}/${Proxy.Endpoint.Address}/${AWS::Region}/${!Literal}"},
    "SubWithNames": {"Fn::Sub": ["${here}/${Queue}", {"here": {"Ref": "Proxy"}}]},
    "Text": "Queue",
}


def _only(id, attribute, instead):
    return lambda *asked: instead if asked == (id, attribute) else None


def test_all_references_are_found():
    assert set(iterate_references(VALUE)) == {
        ("Queue", None),
        ("Queue", "Arn"),
        ("Proxy", "Endpoint.Address"),
        ("AWS::Region", None),
        ("Proxy", None),
    }


def test_what_is_not_replaced_stays_as_it_was():
    assert resolve_references(VALUE, lambda *_: None) == VALUE


def test_a_ref_is_replaced_also_in_the_text_and_in_the_names_of_a_sub():
    out = resolve_references(VALUE, _only("Queue", None, "gone"))
    assert out["Ref"] == "gone"
    assert out["Sub"] == {
        "Fn::Sub": ["${Queue}/${Proxy.Endpoint.Address}/${AWS::Region}/${!Literal}", {"Queue": "gone"}]
    }
    assert out["SubWithNames"] == {"Fn::Sub": ["${here}/${Queue}", {"here": {"Ref": "Proxy"}, "Queue": "gone"}]}
    assert out["GetAtt"] == VALUE["GetAtt"]


def test_an_attribute_is_replaced_in_all_its_spellings():
    out = resolve_references(VALUE, _only("Proxy", "Endpoint.Address", {"Ref": "Host"}))
    assert out["GetAtt"] == [{"Fn::GetAtt": ["Queue", "Arn"]}, {"Ref": "Host"}]
    text, names = out["Sub"]["Fn::Sub"]
    assert text == "${Queue}/${ProxyEndpointAddress}/${AWS::Region}/${!Literal}"
    assert names == {"ProxyEndpointAddress": {"Ref": "Host"}}
    assert ("Proxy", "Endpoint.Address") not in set(iterate_references(out))
