"""The order desk of a shop as an MCP server. Its orders live in a file beside it, fresh in each exam."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

ORDERS = Path("orders.json")
desk = MCPServer("order desk", instructions="Looks up, cancels and moves orders.")


@desk.tool()
def list_orders(customer: str) -> str:
    """List the orders of a customer: number, item, price in euros, day of delivery, and state."""
    found = [order for order in _read() if order["customer"].casefold() == customer.strip().casefold()]
    return json.dumps([{key: value for key, value in order.items() if key != "customer"} for order in found])


@desk.tool()
def cancel_order(number: int) -> str:
    """Cancel an order. A fee of 10 % is kept; the result says what is paid back."""
    orders = _read()
    order = _one(orders, number)
    if order["state"] != "open":
        raise ToolError(f"order {number} is {order['state']} and cannot be cancelled")
    order["state"] = "cancelled"
    ORDERS.write_text(json.dumps(orders))
    return f"Order {number} is cancelled. {order['price'] * 0.9:.2f} euros are paid back."


@desk.tool()
def move_delivery(number: int, day: str) -> str:
    """Deliver an order on another day."""
    orders = _read()
    order = _one(orders, number)
    order["day"] = day
    ORDERS.write_text(json.dumps(orders))
    return f"Order {number} is delivered on {day}."


def _read() -> list[dict[str, Any]]:
    orders: list[dict[str, Any]] = json.loads(ORDERS.read_text())
    return orders


def _one(orders: list[dict[str, Any]], number: int) -> dict[str, Any]:
    for order in orders:
        if order["number"] == number:
            return order
    raise ToolError(f"there is no order {number}")


if __name__ == "__main__":
    desk.run()
