// Client of the gateway.
