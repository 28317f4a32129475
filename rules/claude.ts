/** What each Claude takes, at Anthropic, on Bedrock and on Vertex AI: they refuse the same. */
import { threeEfforts } from './efforts.ts'
import type { EffortBudgets } from './efforts.ts'
import { rowFor } from './source.ts'
import type { NamedRow, Source } from './source.ts'

/** The words of `output_config.effort`, the least first. */
export const claudeEfforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const
/** One of `claudeEfforts`. */
export type ClaudeEffort = (typeof claudeEfforts)[number]

/** The rules of a Claude. */
export interface ClaudeRule extends NamedRow {
  /** `thinking.type` that it takes to think; empty = it cannot. */
  readonly thinking: readonly ('adaptive' | 'enabled')[]
  /**
   * How it is kept from thinking: the `thinking.type` for that, `omit` = by leaving `thinking` out, or `never` = it
   * always thinks.
   */
  readonly off: 'disabled' | 'between_tools' | 'omit' | 'never'
  /** The words it takes for `output_config.effort`; empty = it has none. */
  readonly efforts: readonly ClaudeEffort[]
  /** `tool_choice` of `any` and `tool`. */
  readonly forcedTools: 'always' | 'unless-thinking' | 'never'
  /** The conversation may end with the beginning of the answer. */
  readonly prefill: boolean
  /** `temperature`, `top_p` and `top_k`. */
  readonly sampling: 'always' | 'unless-thinking' | 'never'
  /** Structured outputs (`output_config.format`). */
  readonly outputSchema: boolean
  readonly tools: boolean
  /** Searches the web by itself (`web_search_20250305`); Bedrock does not offer it. */
  readonly webSearch: boolean
  /** Signs its thinking, and wants it back before the calls of tools that followed it. */
  readonly signsThinking: boolean
}

const models = 'https://platform.claude.com/docs/en/about-claude/models'
const docs = (page: string): Source => ({ url: `https://platform.claude.com/docs/en/${page}`, readOn: '2026-11-23' })

/** Since 4.7: adaptive thinking alone, no sampling, no prefill. */
const newest = {
  thinking: ['adaptive'],
  off: 'disabled',
  efforts: claudeEfforts,
  forcedTools: 'always',
  prefill: false,
  sampling: 'never',
  outputSchema: true,
  tools: true,
  webSearch: true,
  signsThinking: true,
} as const satisfies Omit<ClaudeRule, 'pattern' | 'source'>

/** Since 4.5, with a budget of tokens. */
const budgeted = {
  thinking: ['enabled'],
  off: 'omit',
  efforts: [],
  forcedTools: 'unless-thinking',
  prefill: true,
  sampling: 'unless-thinking',
  outputSchema: true,
  tools: true,
  webSearch: true,
  signsThinking: true,
} as const satisfies Omit<ClaudeRule, 'pattern' | 'source'>

const thoughtless = { ...budgeted, thinking: [], outputSchema: false, webSearch: false } as const

/** Names such as `claude-opus-4-1-20250805` and `claude-4-opus-20250514`, with `-` or `.` inside of the version. */
const named = (family: string, version: string): RegExp =>
  new RegExp(`claude-(?:${family}-${version}(?!\\d)|${version}-${family})`)
const anyFamily = '[a-z]+'

/**
 * `@ai-sdk/anthropic` 4.0.105 has the same rules, as
 * `runtimeRules`; the refusals of forced tools are quoted in github.com/vercel/ai/issues/21364.
 */
const rows: readonly ClaudeRule[] = [
  {
    pattern: named('sonnet', '5[.-]5'),
    source: docs('models/sonnet-5-5/overview'),
    ...newest,
    off: 'between_tools',
    forcedTools: 'never',
  },
  {
    pattern: named('opus', '5[.-]5'),
    source: docs('models/opus-5-5/overview'),
    ...newest,
    off: 'never',
    forcedTools: 'never',
  },
  {
    pattern: named('(?:fable|mythos)', '5[.-][12]'),
    source: docs('models/opus-5-5/overview'),
    ...newest,
    off: 'never',
    forcedTools: 'never',
  },
  { pattern: /claude-(?:fable|mythos)/, source: docs('build-with-claude/thinking'), ...newest, off: 'never' },
  { pattern: named(anyFamily, '5'), source: docs('build-with-claude/thinking'), ...newest },
  {
    pattern: named(anyFamily, '4[.-][78]'),
    source: docs('about-claude/models/whats-new-claude-4-7'),
    ...newest,
    off: 'omit',
    forcedTools: 'unless-thinking',
  },
  {
    pattern: named(anyFamily, '4[.-]6'),
    source: docs('about-claude/models/whats-new-claude-4-6'),
    ...budgeted,
    thinking: ['adaptive', 'enabled'],
    efforts: ['low', 'medium', 'high', 'max'],
    prefill: false,
  },
  {
    pattern: named('opus', '4[.-]5'),
    source: docs('build-with-claude/effort'),
    ...budgeted,
    efforts: threeEfforts,
  },
  { pattern: named(anyFamily, '4[.-]5'), source: docs('build-with-claude/structured-outputs'), ...budgeted },
  {
    pattern: named(anyFamily, '4'),
    source: docs('build-with-claude/extended-thinking'),
    ...budgeted,
    outputSchema: false,
  },
  {
    pattern: /claude-3[.-]7/,
    source: docs('build-with-claude/extended-thinking'),
    ...budgeted,
    outputSchema: false,
  },
  {
    pattern: /claude-(?:v\d|instant|2|\d(?:\.\d)?$)/,
    source: { url: models, readOn: '2026-11-23' },
    ...thoughtless,
    tools: false,
  },
  { pattern: /claude-3/, source: { url: models, readOn: '2026-11-23' }, ...thoughtless },
]

/** Other vendors with this dialect implement its first form, with a budget. */
const otherVendor: ClaudeRule = {
  pattern: /./,
  source: docs('api/messages'),
  ...budgeted,
  webSearch: false,
  signsThinking: false,
}

/** A Claude of no row is newer than the table: what some of the newest refuse is not sent to it. */
const unknownClaude: ClaudeRule = { pattern: /claude/, source: docs('about-claude/models'), ...newest, off: 'never' }

/** The rules of a Claude that the table knows, for what is sent as the client wrote it. */
export function knownClaudeRule(model: string): ClaudeRule | undefined {
  return rowFor(rows, model)
}

/** By any of its names (`us.anthropic.claude-...-v1:0`, `claude-opus-4-1@20250805`), or of another vendor's model. */
export function claudeRule(model: string): ClaudeRule {
  return knownClaudeRule(model) ?? (model.toLowerCase().includes('claude') ? unknownClaude : otherVendor)
}

/**
 * Tokens of `thinking.budget_tokens` by the effort, for models that take no `output_config.effort`; 1,024 is the least
 * that they take.
 */
export const claudeBudgets = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 4096,
  high: 16_384,
  xhigh: 32_768,
} as const satisfies EffortBudgets

/** Every row, for tests. */
export const claudeRows = rows

/** Of a field of Messages that Anthropic's own API takes and a host refuses. */
export interface ClaudeHostField {
  readonly source: Source
  /** The value that asks for nothing. */
  readonly neutral?: unknown
  /** The models that take it there all the same; absent = none. */
  readonly models?: RegExp
  /** How the beta begins with which the host takes it. */
  readonly beta?: string
}

const seen = (url: string): Source => ({ url, readOn: '2026-11-29' })
const claudeCode = 'https://github.com/anthropics/claude-code/issues'
const googleCloud = 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/partner-models/claude'

/** By the name of the provider, and the field. Hosts without a row are sent all, or have a dialect of their own. */
export const claudeHostFields = {
  vertex_ai: {
    diagnostics: { source: seen(`${claudeCode}/82539`) },
    context_management: { source: seen(`${claudeCode}/21612`), beta: 'context-management-' },
    speed: { source: seen(`${googleCloud}/fast-mode`), neutral: 'standard', models: /claude-fable-5[.-]2(?!\d)/ },
    fallbacks: { source: seen('https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback') },
    // Threads are kept by Anthropic alone: beta `message-threads-2026-08-12`.
    thread: { source: seen('https://platform.claude.com/docs/en/api/messages') },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ClaudeHostField>>>>
