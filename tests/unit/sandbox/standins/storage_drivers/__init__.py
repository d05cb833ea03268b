"""The drivers of shares and folders, and the network storage behind them."""
