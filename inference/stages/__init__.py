"""The five stages of the engine: fetch, decode, batch, forward, write. Each passes values on and knows no other."""
