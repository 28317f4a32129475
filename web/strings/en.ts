/** Every text of the pages. A new text goes below the heading of its page; then `de.ts` asks for it. */
export const en = {
  // All pages
  'all.loading': 'Loading',
  'all.close': 'Close',
  'all.cancel': 'Cancel',
  'all.copy': 'Copy',
  'all.copied': 'Copied',
  'all.retry': 'Try again',
  'all.search': 'Search',
  'all.more': 'Load more',
  'all.none': 'None',
  'all.unlimited': 'No limit',
  'all.columns': 'Columns',
  'all.details': 'Details',
  'all.showMenu': 'Show menu',
  'all.requestId': 'Request id',
  'all.noMatch': 'Nothing matches',
  'all.remove': 'Remove {what}',
  'all.typeToConfirm': 'Type {name} to confirm',
  'all.skip': 'Skip to content',

  // Errors
  'error.offline': 'The gateway does not answer',
  'error.offlineHelp': 'Check that it runs and that this device can reach it. Nothing that you typed is lost.',
  'error.forbidden': 'Your role does not allow this',
  'error.forbiddenHelp': 'Your role is {role}. An administrator can change it.',
  'error.notFound': 'This does not exist',
  'error.notFoundHelp': 'It may have been deleted, or the address is wrong.',
  'error.conflict': 'This conflicts with what is stored',
  'error.conflictHelp': 'If another person changed it meanwhile: load it again, then repeat your change.',
  'error.invalid': 'The gateway refused this',
  'error.rate': 'Too many requests',
  'error.rateHelp': 'Wait a moment, then try again.',
  'error.server': 'The gateway failed',
  'error.serverHelp': 'The request id finds the reason in its log.',
  'error.page': 'This page has a fault',
  'error.pageHelp': 'Reload it. The other pages work.',

  // Navigation and frame
  'nav.label': 'Pages',
  'nav.overview': 'Overview',
  'nav.build': 'Build',
  'nav.observe': 'Observe',
  'nav.manage': 'Manage',
  'nav.extend': 'Extend',
  'nav.settings': 'Settings',
  'nav.keys': 'Keys',
  'nav.teams': 'Teams',
  'nav.users': 'Users',
  'nav.audit': 'Audit log',
  'nav.health': 'Health',
  'nav.sessions': 'Sessions',
  'frame.account': 'Account',
  'frame.signOut': 'Sign out',
  'frame.theme': 'Theme',
  'frame.theme.system': 'As the system',
  'frame.theme.light': 'Light',
  'frame.theme.dark': 'Dark',
  'frame.language': 'Language',
  'frame.shortcuts': 'Keyboard',
  'frame.apiDocs': 'API reference',
  'frame.operator': 'Operator',

  // Command palette and keyboard
  'palette.title': 'Go to or do',
  'palette.placeholder': 'Search pages and actions',
  'palette.pages': 'Pages',
  'palette.actions': 'Actions',
  'shortcuts.title': 'Keyboard',
  'shortcuts.palette': 'Open the command palette',
  'shortcuts.search': 'Search on this page',
  'shortcuts.create': 'The main action of this page',
  'shortcuts.help': 'Show this list',
  'shortcuts.rows': 'Next and previous row',
  'shortcuts.open': 'Open the row',
  'shortcuts.close': 'Close what is open',
  'shortcuts.goTo': 'Go to {page}',

  // Parts
  'secret.once': 'Shown once. It cannot be shown again.',
  'secret.copy': 'Copy key',
  'meter.of': '{used} of {limit}',
  'meter.resets': 'resets {when}',
  'meter.forecast': 'reached {when} at this pace',
  'table.sortBy': 'Sort by {column}',
  'filter.placeholder': 'Filter, for example {example}',
  'filter.clear': 'Clear filter',
  'range.label': 'Time range',
  'range.1h': 'last hour',
  'range.24h': 'last 24 h',
  'range.7d': 'last 7 days',
  'range.30d': 'last 30 days',
  'range.custom': '{from} to {to}',
  'chart.table': 'As a table',
  'chart.chart': 'As a chart',
  'chart.time': 'Time',
  'histogram.label': 'Calls over time. Drag to choose a span.',
  'money.unknown': 'no price',
  'tokens.short': '{count} tok',
  'tokens.exact': '{count} tokens',

  // Signing in
  'signIn.title': 'Sign in to Modelgate',
  'signIn.action': 'Sign in',
  'signIn.asUser': 'User',
  'signIn.asOperator': 'Operator',
  'signIn.with': 'Sign in with {name}',
  'signIn.username': 'User id or email',
  'signIn.password': 'Password',
  'signIn.masterKey': 'Master key',
  'signIn.masterKeyHelp': 'For the operator: the key that the gateway was started with.',
  'signIn.development': 'Use the key in this page (development)',
  'signIn.fallback': 'Sign in without JavaScript',
  'signIn.ended': 'Your session has ended',
  'signIn.endedHelp': 'Sign in again to go on. What you typed is still there.',

  // Sessions
  'sessions.device': 'Device',
  'sessions.address': 'Address',
  'sessions.used': 'Last used',
  'sessions.ends': 'Ends',
  'sessions.end': 'Sign out',
  'sessions.endAll': 'Sign out everywhere',
  'sessions.endAllHelp': 'All sessions end within a second, this one too. Keys stay valid.',
  'sessions.ended': 'Session ended',
  'sessions.current': 'This one',
  'sessions.unknown': 'Unknown',
  'sessions.empty': 'No sessions',

  // Overview and setup
  'overview.models': 'Models you may call',
  'overview.noModels': 'No models yet',
  'overview.noModelsHelp': 'An administrator adds them, or lets you call them.',
  'setup.title': 'Set up this gateway',
  'setup.done': 'done',
  'setup.model': 'Add a model of a provider',
  'setup.modelHelp': 'With your key there. It is stored encrypted, and never shown again.',
  'setup.key': 'Create a key',
  'setup.keyHelp': "Programs use it in place of the provider's.",
  'setup.call': 'Make the first call',
  'setup.callHelp': 'This page sees it by itself.',
  'setup.addModel': 'Add model',
  'setup.addModelHelp': 'Clients call it by its name at once.',
  'setup.modelAdded': 'Model {name} added',
  'setup.provider': 'Provider',
  'setup.ownServer': 'Own server (OpenAI-compatible)',
  'setup.baseUrl': 'Base URL',
  'setup.apiKey': 'API key',
  'setup.apiKeyHelp': 'From the provider. Empty where it asks for none.',
  'setup.modelName': 'Model',
  'setup.modelNameHelp': 'As the provider calls it, for example {example}',

  // Playground

  // Model hub

  // Connect

  // Chat

  // Usage

  // Logs

  // Health

  // Audit

  // Keys
  'keys.name': 'Name',
  'keys.key': 'Key',
  'keys.status': 'Status',
  'keys.created': 'Created',
  'keys.active': 'Active',
  'keys.blocked': 'Blocked',
  'keys.expired': 'Expired',
  'keys.empty': 'No keys yet',
  'keys.budget': 'Budget',
  'keys.id': 'Id',
  'keys.models': 'Models',
  'keys.allModels': 'All that you may call',
  'keys.modelsHelp': 'Empty = all of them',
  'keys.team': 'Team',
  'keys.noTeam': 'No team',
  'keys.user': 'User',
  'keys.spend': 'Spend',
  'keys.rpm': 'Requests per minute',
  'keys.tpm': 'Tokens per minute',
  'keys.parallel': 'Calls at a time',
  'keys.expires': 'Expires',
  'keys.never': 'Never',
  'keys.nameHelp': 'So that you know it again, for example ci-bot',
  'keys.create': 'Create key',
  'keys.createHelp': 'Programs call models with it, on your account.',
  'keys.created.title': 'Key {name} created',
  'keys.emptyHelp': 'A key lets a program or a coding agent call models.',
  'keys.haveCopied': 'I have copied it',
  'keys.closeAnyway': 'Close without copying',
  'keys.notCopied': 'You have not copied the key. When this is closed it is gone, and only a new one helps.',
  'keys.firstCall': 'First call',
  'keys.rotate': 'Rotate key',
  'keys.rotateTitle': 'Rotate key {name}',
  'keys.rotateHelp': 'The key gets a new text. Name, limits and spend stay.',
  'keys.rotated': 'New text for key {name}',
  'keys.grace': 'The old text stays valid',
  'keys.grace.none': 'Not at all',
  'keys.grace.24h': '24 hours',
  'keys.grace.7d': '7 days',
  'keys.block': 'Block key',
  'keys.unblock': 'Unblock key',
  'keys.delete': 'Delete key',
  'keys.deleteTitle': 'Delete key {name}',
  'keys.deleteHelp':
    'Programs that use it are refused at once. This cannot be undone; what it spent stays in the logs.',
  'keys.deleted': 'Key {name} deleted',
  'keys.yourLimits': 'Your limits, for all of your keys together',

  // Teams

  // Users

  // Organisations

  // Customers

  // Models

  // Providers

  // Budgets

  // Guardrails

  // Caching

  // Settings

  // Limits and budgets
  'limits.budget': 'Budget',
  'limits.period': 'Budget period',
  'limits.forEver': 'Once, without a reset',
  'limits.requests': 'Requests a minute',
  'limits.tokens': 'Tokens a minute',
  'limits.parallel': 'Calls at once',
  'limits.models': 'Models',
  'limits.everyModel': 'Every model',

  // Teams
  'teams.name': 'Name',
  'teams.status': 'Status',
  'teams.active': 'Active',
  'teams.blocked': 'Blocked',
  'teams.members': 'Members',
  'teams.spend': 'Spent',
  'teams.created': 'Created',
  'teams.changed': 'Changed',
  'teams.id': 'Id',
  'teams.keys': 'Keys',
  'teams.tags': 'Tags',
  'teams.create': 'Create team',
  'teams.created.toast': 'Team {name} created',
  'teams.search': 'Search teams by name',
  'teams.empty': 'No teams yet',
  'teams.emptyHelp': 'A team shares models, limits and a budget between its members.',
  'teams.budgetHelp': 'What all of its members and keys may spend together. Empty = no limit.',
  'teams.noMembers': 'No member yet.',
  'teams.addMember': 'Add a member',
  'teams.addMemberHelp': 'E-mail address or user id',
  'teams.add': 'Add',
  'teams.role': 'Role in the team',
  'teams.role.admin': 'Admin',
  'teams.role.user': 'Member',
  'teams.block': 'Block team',
  'teams.unblock': 'Unblock team',
  'teams.blocked.toast': 'Team {name} blocked: its keys are refused',
  'teams.unblocked.toast': 'Team {name} unblocked',
  'teams.delete': 'Delete team',
  'teams.deleteHelp': 'Deletes {name} with all of its keys. Its calls stay in the logs. This cannot be undone.',
  'teams.deleted.toast': 'Team {name} deleted',

  // Users
  'users.name': 'Name',
  'users.displayName': 'Display name (optional)',
  'users.email': 'E-mail address',
  'users.role': 'Role',
  'users.everyRole': 'Every role',
  'users.role.user': 'Member',
  'users.role.userViewer': 'Member, read only',
  'users.role.adminViewer': 'Admin, read only',
  'users.role.admin': 'Admin',
  'users.status': 'Status',
  'users.active': 'Active',
  'users.blocked': 'Blocked',
  'users.spend': 'Spent',
  'users.created': 'Created',
  'users.changed': 'Changed',
  'users.id': 'Id',
  'users.keys': 'Keys',
  'users.search': 'Search users by e-mail address',
  'users.create': 'Create user',
  'users.created.toast': 'User {name} created',
  'users.changed.toast': 'User {name} changed',
  'users.empty': 'No users yet',
  'users.emptyHelp': 'Users appear at their first sign-in, or are created here.',
  'users.block': 'Block user',
  'users.unblock': 'Unblock user',
  'users.delete': 'Delete user',
  'users.deleteHelp':
    'Deletes {name} with all keys, and signs out everywhere. The calls stay in the logs. This cannot be undone.',
  'users.deleted.toast': 'User {name} deleted',

  // Audit
  'audit.at': 'When',
  'audit.action': 'Action',
  'audit.everyAction': 'Every action',
  'audit.kind': 'Of',
  'audit.object': 'Object',
  'audit.by': 'By',
  'audit.key': 'With key',
  'audit.search': 'Search by the id of the object',
  'audit.empty': 'Nothing was changed yet',
  'audit.field': 'Field',
  'audit.before': 'Before',
  'audit.after': 'After',
  'audit.noFields': 'No field has changed.',

  // Health of deployments
  'health.model': 'Model',
  'health.state': 'State',
  'health.upstream': 'Upstream',
  'health.took': 'Answered in',
  'health.reason': 'Reason',
  'health.check': 'Check now',
  'health.idle': 'Not checked yet',
  'health.idleHelp': 'Checking makes one small call of each deployment, which is real and may cost something.',
  'health.empty': 'No deployments',
  'health.emptyHelp': 'Add models in the configuration file or by the API.',
  'health.healthy': 'Healthy',
  'health.unhealthy': 'Does not answer',
  'health.unchecked': 'Not checked',
} as const
