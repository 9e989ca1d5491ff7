// On a NONE data source: what the relay sends is what subscribers get.
export function request(ctx) {
  return { payload: ctx.args };
}

export function response(ctx) {
  return ctx.result;
}
