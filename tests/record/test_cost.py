from simnet.record.cost import Cost


def test_a_run_pays_for_bytes_messages_and_seconds_by_every_list_of_prices():
    cost = Cost.model_validate({"energy": {"per_byte": 0.5, "per_second": 2}, "money": {"per_message": 3}})
    assert cost.totals(wire_bytes=10, messages=4, seconds=1.5) == {"energy": 8.0, "money": 12.0}


def test_without_prices_there_is_no_cost():
    assert Cost().totals(10, 4, 1.5) == {}
