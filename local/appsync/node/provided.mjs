// The part of '@aws-appsync/utils' that our resolvers use, with AppSync's names and shapes. What is not here fails.
const NOTHING = { filter: null, invalidationFilter: null, invalidations: [] };
const MOST_INVALIDATIONS = 5; // AppSync's quota for one request
let handler = null;
let said = NOTHING;

// For evaluate.mjs only: which handler runs next, and what it said to the extensions.
export function begin(name) {
  handler = name;
  said = { ...NOTHING, invalidations: [] };
}

export function takeSaid() {
  const taken = said;
  begin(null);
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

function demandResponse(extension) {
  if (handler !== 'response') {
    throw new ResolverError(`${extension} may be called in a response handler only.`, 'Code');
  }
}

export const extensions = {
  setSubscriptionFilter(value) {
    demandResponse('setSubscriptionFilter');
    said.filter = value;
  },
  setSubscriptionInvalidationFilter(value) {
    demandResponse('setSubscriptionInvalidationFilter');
    said.invalidationFilter = value;
  },
  invalidateSubscriptions(value) {
    demandResponse('invalidateSubscriptions');
    said.invalidations.push(value);
    if (said.invalidations.length > MOST_INVALIDATIONS) {
      throw new ResolverError('A request may invalidate subscriptions five times only.', 'Code');
    }
  },
};
