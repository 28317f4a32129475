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
  'error.conflict': 'Changed by another person meanwhile',
  'error.conflictHelp': 'Load it again, then repeat your change.',
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
  'signIn.with': 'Sign in with {name}',
  'signIn.username': 'User id or email',
  'signIn.password': 'Password',
  'signIn.masterKey': 'Master key',
  'signIn.masterKeyHelp': 'For the operator: the key that the gateway was started with.',
  'signIn.development': 'Use the key in this page (development)',
  'signIn.fallback': 'Sign in without JavaScript',
  'signIn.ended': 'Your session has ended',
  'signIn.endedHelp': 'Sign in again to go on. What you typed is still there.',

  // Overview and setup
  'overview.models': 'Models you may call',

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
} as const
