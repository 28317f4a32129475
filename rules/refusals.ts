/**
 * What an upstream's error means, by what is written in it: types and codes first, then the words of its host, then
 * those of all hosts, then the status. The rows of each host stand in `host-refusals.ts`.
 */
import { hostRefusals } from './host-refusals.ts'
import type { Refusal, RefusalKind } from './refusal-rows.ts'

/** An error as an upstream wrote it, without its shape. */
export interface RefusalText {
  /** The host's name in the catalogue; one without rows of its own is judged by those of all. */
  readonly host: string
  /** The status that the error has; undefined = it came in an answer that was announced as a success. */
  readonly status: number | undefined
  /** Its types, codes and reasons, numbers as text. */
  readonly codes: readonly string[]
  /** Its sentences. */
  readonly message: string
  /** Whether these words of a sentence may be the client's own, which the host repeats; absent = they are not. */
  isEcho?(this: void, words: string): boolean
}

/** Codes that stand for a kind unless the words say more; they say more than the status. */
const usualCodes: Readonly<Record<string, RefusalKind>> = {
  // google.rpc.Code, as Gemini, Vertex, Fireworks and xAI write it (cloud.google.com/apis/design/errors; 2026-11).
  invalid_argument: 'refused',
  out_of_range: 'refused',
  // Billing is disabled or the country is not served: the operator's matter, not the client's.
  failed_precondition: 'bad-key',
  unauthenticated: 'bad-key',
  permission_denied: 'bad-key',
  not_found: 'unknown-model',
  resource_exhausted: 'rate',
  deadline_exceeded: 'timeout',
  unavailable: 'overloaded',
  internal: 'failed',
  unknown: 'failed',
  cancelled: 'failed',
  aborted: 'failed',
  // docs.claude.com/en/api/errors (2026-11).
  permission_error: 'bad-key',
  not_found_error: 'unknown-model',
  rate_limit_error: 'rate',
  timeout_error: 'timeout',
  // AWS (docs.aws.amazon.com/bedrock, "Troubleshooting Amazon Bedrock API error codes"; 2026-11).
  accessdeniedexception: 'bad-key',
  resourcenotfoundexception: 'unknown-model',
  validationexception: 'refused',
  conflictexception: 'refused',
  throttlingexception: 'rate',
  toomanyrequestsexception: 'rate',
  servicequotaexceededexception: 'rate',
  modeltimeoutexception: 'timeout',
  modelnotreadyexception: 'overloaded',
  serviceunavailableexception: 'overloaded',
  modelerrorexception: 'failed',
  modelstreamerrorexception: 'failed',
  internalserverexception: 'failed',
  internalfailure: 'failed',
}

/** Codes that many errors have: they count where neither a word nor a status says more. */
const vagueCodes: Readonly<Record<string, RefusalKind>> = {
  invalid_request_error: 'refused',
  invalid_prompt: 'refused',
  badrequesterror: 'refused',
  badrequest: 'refused',
  bad_request: 'refused',
  invalidparameter: 'refused',
  invalid_parameter_error: 'refused',
  'invalid-argument': 'refused',
  validation: 'refused',
  validation_error: 'refused',
  notfounderror: 'unknown-model',
  unauthorized: 'bad-key',
  authenticationerror: 'bad-key',
  permission_denied_error: 'bad-key',
  rate_limit: 'rate',
  ratelimiterror: 'rate',
  too_many_requests: 'rate',
  'resource-exhausted': 'rate',
  tokens: 'rate',
  requests: 'rate',
  service_unavailable_error: 'overloaded',
  service_unavailable: 'overloaded',
  serviceunavailable: 'overloaded',
  unavailable_error: 'overloaded',
  timeout: 'timeout',
  server_error: 'failed',
  api_error: 'failed',
}

type Words = readonly (readonly [RefusalKind, RegExp])[]

/** What hosts without rows say, where the status is that of a wrong request, or is missing. */
const looseWords: Words = [
  [
    'no-credit',
    new RegExp(
      'credit balance is too low|(?:insufficient|not enough) (?:account )?(?:balance|credits?|funds)|' +
        'balance is (?:insufficient|not enough)|used all available credits|prepayment credits are depleted|' +
        '(?:reached|exceeded) (?:your|its|the) (?:monthly )?spend(?:ing)? limit|' +
        'account .{0,80}(?:is suspended|in arrears|is overdue|not active)',
      'i',
    ),
  ],
  [
    'too-long',
    new RegExp(
      'context[ _](?:length|window|limit|size)|maximum context|too many (?:input )?tokens|' +
        "(?:prompt|input) is too long|exceeds? the (?:model'?s )?(?:maximum (?!number of (?:images|files))|context)|" +
        'prompt token count of [\\d,]+ exceeds',
      'i',
    ),
  ],
  [
    'content-policy',
    new RegExp(
      'content[ _](?:policy|filter|management)|safety (?:system|policy)|responsible ai|' +
        'violat\\w+ (?:our )?usage (?:polic|guide)',
      'i',
    ),
  ],
]

/** What is said without any status: then the words are all there is. */
const wordsWithoutStatus: Words = [
  ['no-credit', /payment (?:is )?required|payment method/i],
  ['bad-key', /(?:api.?key|token|credentials?|subscription key).{0,40}(?:invalid|incorrect|wrong|expired|not valid)/i],
  [
    'bad-key',
    /(?:invalid|incorrect|wrong|expired|missing|no) (?:api.?key|api token|(?:auth )?credentials?|subscription key)/i,
  ],
  ['bad-key', /\bunauthorized\b|authentication fail/i],
  ['rate', /rate.?limit|too many requests|throttl|requests per (?:second|minute|hour|day)/i],
  [
    'overloaded',
    /overloaded|over capacity|at capacity|server busy|high (?:demand|traffic)|(?:temporarily|currently) unavailable/i,
  ],
  ['unknown-model', /\bmodel\b.{0,120}(?:not found|does not exist|not exist|no longer available|end of its life)/i],
  ['unknown-model', /(?:invalid|unknown|unsupported) model\b|model (?:identifier|id) is (?:invalid|not valid)/i],
  ['timeout', /\btimed out\b|deadline exceeded/i],
]

/** 403 stands for a filter as well as for a key (openrouter.ai/docs, "Errors"; 2026-11). */
const flagged: Words = [['content-policy', /\b(?:flagged|moderation)\b/i]]

/** Which kinds the words of an error may turn another kind into; a kind that is missing is final. */
const refinements: Readonly<Partial<Record<RefusalKind, readonly RefusalKind[]>>> = {
  rate: ['no-credit', 'overloaded'],
  // Gateways before the host answer so for all that went wrong behind them.
  overloaded: ['too-long', 'bad-input'],
  timeout: ['too-long', 'bad-input'],
  'bad-key': ['no-credit', 'content-policy', 'too-long'],
}
const anyKind: readonly RefusalKind[] = [
  'too-long',
  'content-policy',
  'bad-input',
  'too-large',
  'unknown-model',
  'bad-key',
  'no-credit',
  'rate',
  'overloaded',
  'timeout',
]
/** A server that failed speaks of balances and keys that are not the account's. */
const ofFailures: readonly RefusalKind[] = [
  'too-long',
  'content-policy',
  'bad-input',
  'unknown-model',
  'overloaded',
  'rate',
]

/**
 * Kinds for which a deployment cools down or its account is blamed. Hosts repeat a wrong field or value (`Unknown
 * parameter: '...'`): no client is to bring these about by the words that it sends.
 */
const blaming: ReadonlySet<RefusalKind> = new Set([
  'unknown-model',
  'bad-key',
  'no-credit',
  'rate',
  'overloaded',
  'timeout',
])

/** The kind of an error. `failed` = nothing is known but that the upstream failed. */
export function refusalOf(text: RefusalText): RefusalKind {
  const codes = text.codes.map(code => code.toLowerCase())
  const own = hostRefusals[text.host] ?? []
  const certain = byCode(own, codes) ?? byCode(foreign(text.host), codes.filter(isName))
  if (certain) return certain
  const known = kindByStatus(own, text.status)
  const kind = firstOf(codes, usualCodes) ?? known ?? firstOf(codes, vagueCodes) ?? 'failed'
  // Of any other kind the upstream is to blame anyway.
  const isEcho = kind === 'refused' ? text.isEcho : undefined
  return byWords(text, own, refinementsOf(kind, text.status), isEcho) ?? kind
}

function refinementsOf(kind: RefusalKind, status: number | undefined): readonly RefusalKind[] {
  if (kind === 'bad-key' && status === 401) return ['no-credit']
  if (kind === 'no-credit') return []
  return refinements[kind] ?? (status !== undefined && status >= 500 ? ofFailures : anyKind)
}

function byWords(
  { host, status, message }: RefusalText,
  own: readonly Refusal[],
  allowed: readonly RefusalKind[],
  isEcho: RefusalText['isEcho'],
): RefusalKind | undefined {
  if (message === '' || allowed.length === 0) return undefined
  const means = (kind: RefusalKind, words: RegExp | undefined): boolean => {
    const found = allowed.includes(kind) ? words?.exec(message) : undefined
    return found != null && !(blaming.has(kind) && isEcho?.(found[0]) === true)
  }
  const said = (rows: readonly Refusal[]) => rows.find(({ kind, words }) => means(kind, words))?.kind
  const listed = (list: Words) => list.find(([kind, words]) => means(kind, words))?.[0]
  return (
    said(own) ??
    said(foreign(host)) ??
    (status === 403 ? listed(flagged) : undefined) ??
    (status === undefined || status < 500 ? listed(looseWords) : undefined) ??
    (status === undefined ? listed(wordsWithoutStatus) : undefined)
  )
}

/** Numbers mean something at one host alone. */
const isName = (code: string): boolean => !/^\d+$/.test(code)

const others = new Map<string, readonly Refusal[]>()

/** The rows of all hosts but this one: gateways and compatible hosts repeat what others wrote. */
function foreign(host: string): readonly Refusal[] {
  // Few hosts have rows, and the others share one list.
  const key = Object.hasOwn(hostRefusals, host) ? host : ''
  let rows = others.get(key)
  if (!rows) {
    rows = Object.entries(hostRefusals).flatMap(([name, list]) => (name === key ? [] : list))
    others.set(key, rows)
  }
  return rows
}

function byCode(rows: readonly Refusal[], codes: readonly string[]): RefusalKind | undefined {
  if (codes.length === 0) return undefined
  return rows.find(row => row.codes?.some(code => codes.some(given => isCode(given, code))) === true)?.kind
}

/** A code that ends with `*` stands for all that begin so. */
const isCode = (given: string, code: string): boolean =>
  code.endsWith('*') ? given.startsWith(code.slice(0, -1)) : given === code

function firstOf(codes: readonly string[], table: Readonly<Record<string, RefusalKind>>): RefusalKind | undefined {
  const code = codes.find(one => Object.hasOwn(table, one))
  return code === undefined ? undefined : table[code]
}

/** Undefined = the error has no status of a failure. */
function kindByStatus(own: readonly Refusal[], status: number | undefined): RefusalKind | undefined {
  if (status === undefined || status < 400) return undefined
  const row = own.find(({ statuses }) => statuses?.includes(status) === true)
  if (row) return row.kind
  if (status === 401 || status === 403) return 'bad-key'
  if (status === 402) return 'no-credit'
  if (status === 404) return 'unknown-model'
  if (status === 408 || status === 504) return 'timeout'
  if (status === 413) return 'too-large'
  if (status === 429) return 'rate'
  if (status === 502) return 'bad-gateway'
  if (status === 503 || status === 529) return 'overloaded'
  return status >= 500 ? 'failed' : 'refused'
}
