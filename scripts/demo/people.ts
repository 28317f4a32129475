/** The organisation of the demo: who works in which team, and what their keys are used for. */

/** The organisation that all teams belong to. */
export const demoOrganization = { id: 'nordwind', name: 'Nordwind' }

/** One team. `budget`: which share of it the calls of its present period have spent. */
export interface DemoTeam {
  readonly id: string
  readonly name: string
  readonly models: readonly string[]
  readonly guardrails: readonly string[]
  readonly budget: { readonly spentShare: number; readonly softShare: number }
}

/** Three teams. */
export const demoTeams: readonly DemoTeam[] = [
  {
    id: 'platform',
    name: 'Platform',
    models: [],
    guardrails: [],
    budget: { spentShare: 0.58, softShare: 0.8 },
  },
  {
    id: 'support',
    name: 'Customer support',
    models: ['gpt-5-mini', 'claude-haiku-4-5', 'gemini-2.5-flash', 'text-embedding-3-small', 'rerank-v3.5'],
    guardrails: ['personal-data'],
    // Nearly spent: the page of budgets has something to warn of.
    budget: { spentShare: 0.94, softShare: 0.85 },
  },
  {
    id: 'research',
    name: 'Research',
    models: [],
    guardrails: [],
    budget: { spentShare: 0.36, softShare: 0.8 },
  },
]

/** A person. The id is what they sign in with. */
export interface DemoUser {
  readonly id: string
  readonly name: string
  readonly role: 'proxy_admin' | 'proxy_admin_viewer' | 'internal_user' | 'internal_user_viewer'
  readonly team?: string
  readonly leads?: 'team' | 'organization'
  /** Which share of an own monthly budget is spent; absent = the user has none. */
  readonly spentShare?: number
}

/** Fourteen users, each role among them. */
export const demoUsers: readonly DemoUser[] = [
  { id: 'ada', name: 'Ada Brandt', role: 'proxy_admin', team: 'platform' },
  { id: 'vera', name: 'Vera Nowak', role: 'proxy_admin_viewer' },
  { id: 'olaf', name: 'Olaf Lindqvist', role: 'internal_user', leads: 'organization' },
  { id: 'tessa', name: 'Tessa Okafor', role: 'internal_user', team: 'support', leads: 'team' },
  { id: 'milo', name: 'Milo Ferrari', role: 'internal_user', team: 'support' },
  { id: 'jun', name: 'Jun Takeda', role: 'internal_user', team: 'support' },
  { id: 'carla', name: 'Carla Mendes', role: 'internal_user', team: 'support', spentShare: 0.71 },
  { id: 'sam', name: 'Sam Whitfield', role: 'internal_user', team: 'platform', leads: 'team' },
  { id: 'ines', name: 'Ines Haddad', role: 'internal_user', team: 'platform' },
  { id: 'pavel', name: 'Pavel Horak', role: 'internal_user', team: 'platform', spentShare: 0.88 },
  { id: 'lena', name: 'Lena Vogt', role: 'internal_user', team: 'research', leads: 'team' },
  { id: 'rafael', name: 'Rafael Costa', role: 'internal_user', team: 'research' },
  { id: 'mina', name: 'Mina Park', role: 'internal_user', team: 'research' },
  { id: 'noah', name: 'Noah Keller', role: 'internal_user_viewer', team: 'research' },
]

/** End users of the help desk, as its calls name them. `spentShare` of an own monthly budget is spent. */
export const demoCustomers: readonly { readonly id: string; readonly name: string; readonly spentShare?: number }[] = [
  { id: 'shop-4711', name: 'Corner shop', spentShare: 1.04 },
  { id: 'hotel-astoria', name: 'Hotel Astoria', spentShare: 0.79 },
  { id: 'city-library', name: 'City library' },
]

/** A key, and how it is used. */
export interface DemoKey {
  readonly alias: string
  readonly team: string
  /** Absent = a key of the team alone: a service. */
  readonly user?: string
  /** Share in the calls of a usual working day, before growth: see `callsScale`. */
  readonly callsPerDay: number
  readonly models: Readonly<Record<string, number>>
  readonly client: string
  readonly route: string
  readonly tags?: readonly string[]
  /** Calls at nights and on days off as on others: a service. */
  readonly isAlways?: boolean
  readonly spentShare?: number
  readonly requestsPerMinute?: number
  readonly state?: 'blocked' | 'expiring'
}

const python = 'OpenAI/Python 2.9.0'
const node = 'OpenAI/JS 6.49.0'
const claudeCode = 'claude-cli/2.0.51 (external, cli)'
const codex = 'codex_cli_rs/0.63.0 (Linux 6.8; x86_64)'
const chats = '/v1/chat/completions'
const messages = '/v1/messages'
const responses = '/v1/responses'

/** A coding agent of one person. */
const agent = (alias: string, user: string, team: string, callsPerDay: number): DemoKey => ({
  alias,
  user,
  team,
  callsPerDay,
  models: { 'claude-sonnet-4-5': 8, 'claude-haiku-4-5': 3 },
  client: claudeCode,
  route: messages,
  tags: ['coding'],
})

const codexOf = (alias: string, user: string, team: string, callsPerDay: number): DemoKey => ({
  alias,
  user,
  team,
  callsPerDay,
  models: { 'gpt-4.1': 3, 'gpt-5-mini': 5 },
  client: codex,
  route: responses,
  tags: ['coding'],
})

const script = (alias: string, user: string, team: string, models: Readonly<Record<string, number>>): DemoKey => ({
  alias,
  user,
  team,
  callsPerDay: 6,
  models,
  client: python,
  route: chats,
})

/** Twenty-five keys. */
export const demoKeys: readonly DemoKey[] = [
  {
    alias: 'helpdesk-bot',
    team: 'support',
    callsPerDay: 46,
    models: { 'gpt-5-mini': 9, 'claude-haiku-4-5': 2 },
    client: node,
    route: chats,
    tags: ['helpdesk'],
    isAlways: true,
    requestsPerMinute: 120,
  },
  {
    alias: 'knowledge-search',
    team: 'support',
    callsPerDay: 38,
    models: { 'text-embedding-3-small': 6, 'rerank-v3.5': 4 },
    client: python,
    route: '/v1/embeddings',
    tags: ['search'],
    isAlways: true,
  },
  {
    alias: 'mail-triage',
    team: 'support',
    callsPerDay: 24,
    models: { 'gemini-2.5-flash': 5, 'gpt-5-mini': 1 },
    client: python,
    route: chats,
    tags: ['mail'],
    isAlways: true,
    spentShare: 0.67,
  },
  script('tessa-reports', 'tessa', 'support', { 'gpt-5-mini': 1 }),
  script('milo-drafts', 'milo', 'support', { 'claude-haiku-4-5': 1, 'gpt-5-mini': 2 }),
  script('jun-translations', 'jun', 'support', { 'gemini-2.5-flash': 1 }),
  script('carla-notebook', 'carla', 'support', { 'gpt-5-mini': 1 }),
  {
    alias: 'ci-review',
    team: 'platform',
    callsPerDay: 21,
    models: { 'claude-sonnet-4-5': 1 },
    client: 'anthropic-sdk-typescript/0.68.0',
    route: messages,
    tags: ['ci'],
    isAlways: true,
    spentShare: 0.82,
    requestsPerMinute: 30,
  },
  {
    alias: 'release-notes',
    team: 'platform',
    callsPerDay: 3,
    models: { 'gpt-4.1': 1 },
    client: 'curl/8.5.0',
    route: chats,
    tags: ['ci'],
  },
  agent('ada-claude-code', 'ada', 'platform', 11),
  agent('sam-claude-code', 'sam', 'platform', 17),
  agent('ines-claude-code', 'ines', 'platform', 14),
  codexOf('pavel-codex', 'pavel', 'platform', 18),
  codexOf('sam-codex', 'sam', 'platform', 5),
  script('ines-playground', 'ines', 'platform', { 'gpt-5-mini': 1, 'llama-3.3-70b': 1 }),
  {
    alias: 'on-call-summaries',
    team: 'platform',
    callsPerDay: 9,
    models: { 'llama-3.3-70b': 1 },
    client: 'Go-http-client/2.0',
    route: chats,
    isAlways: true,
  },
  { ...script('old-prototype', 'pavel', 'platform', { 'gpt-4.1': 1 }), callsPerDay: 0, state: 'blocked' },
  {
    alias: 'eval-harness',
    team: 'research',
    callsPerDay: 34,
    models: { 'llama-3.3-70b': 4, 'gpt-5-mini': 2, 'gemini-2.5-flash': 2, 'claude-sonnet-4-5': 1 },
    client: python,
    route: chats,
    tags: ['evaluation'],
    requestsPerMinute: 300,
  },
  {
    alias: 'paper-digest',
    team: 'research',
    callsPerDay: 12,
    models: { 'gpt-4.1': 2, 'gemini-2.5-flash': 1 },
    client: python,
    route: chats,
    tags: ['papers'],
    isAlways: true,
    spentShare: 0.42,
  },
  agent('lena-claude-code', 'lena', 'research', 8),
  codexOf('rafael-codex', 'rafael', 'research', 7),
  script('mina-notebook', 'mina', 'research', { 'gpt-4.1': 1, 'gemini-2.5-flash': 1 }),
  script('rafael-notebook', 'rafael', 'research', { 'llama-3.3-70b': 1 }),
  {
    alias: 'newsletter-pictures',
    team: 'research',
    callsPerDay: 2,
    models: { 'gpt-image-1': 1 },
    client: node,
    route: '/v1/images/generations',
    tags: ['newsletter'],
  },
  {
    ...script('workshop', 'lena', 'research', { 'gpt-5-mini': 1 }),
    callsPerDay: 4,
    state: 'expiring',
    requestsPerMinute: 10,
  },
]
