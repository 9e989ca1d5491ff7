// The part of '@aws-appsync/utils' that our resolvers use, with AppSync's names and shapes. What is not here fails.
let filter = null;

// For evaluate.mjs only: the filter set since the last call.
export function takeFilter() {
  const taken = filter;
  filter = null;
  return taken;
}

class ResolverError extends Error {
  constructor(message, type) {
    super(message);
    this.type = type;
  }
}

// {tenant: {eq: 't'}, version: {gt: 3, lt: 9}} becomes one group whose conditions all hold; a list or `or` gives groups
// of which one must hold.
function groups(conditions) {
  if (Array.isArray(conditions)) {
    return conditions.flatMap(groups);
  }
  if (conditions.or) {
    return groups(conditions.or);
  }
  const filters = Object.entries(conditions).flatMap(([fieldName, operators]) =>
    Object.entries(operators).map(([operator, value]) => ({ fieldName, operator, value })),
  );
  return [{ filters }];
}

export const util = {
  unauthorized() {
    throw new ResolverError('Unauthorized', 'Unauthorized');
  },
  error(message, type = 'CustomTemplateException') {
    throw new ResolverError(message, type);
  },
  transform: {
    toSubscriptionFilter: (conditions) => ({ filterGroup: groups(conditions) }),
  },
};

export const extensions = {
  setSubscriptionFilter(value) {
    filter = value;
  },
};
