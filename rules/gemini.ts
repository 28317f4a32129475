/** What each Gemini takes, at Google AI and on Vertex AI, first of all how the amount of thinking is set. */
import type { EffortBudgets } from './efforts.ts'
import { rowFor } from './source.ts'
import type { NamedRow, Source } from './source.ts'

/** The words of `thinkingConfig.thinkingLevel`, the least first. */
export const geminiLevels = ['minimal', 'low', 'medium', 'high', 'xhigh'] as const
/** One of `geminiLevels`. */
export type GeminiLevel = (typeof geminiLevels)[number]

/** How a Gemini thinks. */
export type GeminiThinking =
  /** Takes no thinking configuration. */
  | { readonly by: 'nothing' }
  /** `thinkingLevel` is one of these. */
  | { readonly by: 'level'; readonly levels: readonly GeminiLevel[]; readonly canStop: boolean }
  /** `thinkingBudget` is in this range of tokens; `canStop` = 0 is allowed too. */
  | { readonly by: 'budget'; readonly min: number; readonly max: number; readonly canStop: boolean }

interface GeminiRow extends NamedRow {
  readonly thinking: GeminiThinking
}

const thinkingPage: Source = { url: 'https://ai.google.dev/gemini-api/docs/thinking', readOn: '2026-11-23' }
const vertexPage: Source = {
  url: 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/thinking',
  readOn: '2026-11-23',
}
const modelPage = (name: string): Source => ({
  url: `https://ai.google.dev/gemini-api/docs/models/${name}`,
  readOn: '2026-11-23',
})

/** `canStop`: the least level of these models thinks little or not at all, which is taken for "off". */
const fromMinimal: GeminiThinking = { by: 'level', levels: ['minimal', 'low', 'medium', 'high'], canStop: true }
const fromLow: GeminiThinking = { by: 'level', levels: ['low', 'medium', 'high'], canStop: false }

/** `@ai-sdk/google` 4.0.121 has the same levels (`getMinimumThinkingLevelForGemini3Model`). */
const rows: readonly GeminiRow[] = [
  {
    pattern: /gemini-(?:1|2\.0)|gemini-pro(?:-vision)?$|-tts\b|-live\b|native-audio|embedding/,
    source: thinkingPage,
    thinking: { by: 'nothing' },
  },
  { pattern: /gemini-(?:2[.\d]*|3-pro)-?[a-z-]*-image|nano-banana/, source: thinkingPage, thinking: { by: 'nothing' } },
  {
    pattern: /gemini-3[.\d]*-flash(?:-lite)?-image/,
    source: thinkingPage,
    thinking: { by: 'level', levels: ['minimal', 'high'], canStop: true },
  },
  {
    pattern: /gemini-2\.5-pro/,
    source: thinkingPage,
    thinking: { by: 'budget', min: 128, max: 32_768, canStop: false },
  },
  {
    pattern: /gemini-2\.5-flash-lite/,
    source: thinkingPage,
    thinking: { by: 'budget', min: 512, max: 24_576, canStop: true },
  },
  { pattern: /gemini-2\.5/, source: thinkingPage, thinking: { by: 'budget', min: 0, max: 24_576, canStop: true } },
  { pattern: /gemini-3-pro/, source: thinkingPage, thinking: { by: 'level', levels: ['low', 'high'], canStop: false } },
  { pattern: /gemini-(?:[3-9][.\d]*-)?pro/, source: vertexPage, thinking: fromLow },
  {
    pattern: /gemini-4-hydrogen/,
    source: { url: 'https://www.npmjs.com/package/@ai-sdk/google/v/4.0.121', readOn: '2026-11-23' },
    thinking: { by: 'level', levels: ['low', 'medium', 'high', 'xhigh'], canStop: false },
  },
  { pattern: /gemini-(?:[3-9][.\d]*-)?flash-lite/, source: vertexPage, thinking: fromMinimal },
  { pattern: /gemini-3\.(?:[7-9]|\d\d)-flash/, source: modelPage('gemini-3.7-flash'), thinking: fromLow },
  { pattern: /gemini-flash-latest/, source: modelPage('gemini-3.8-flash'), thinking: fromLow },
  { pattern: /gemini-3[.\d]*-flash/, source: vertexPage, thinking: fromMinimal },
]

/** What the generations of Gemini take. */
export interface GeminiFeatures {
  /** Takes JSON Schema (`responseJsonSchema`, `parametersJsonSchema`); else only the older, smaller `Schema`. */
  readonly jsonSchema: boolean
  /** Takes `responseMimeType` beside function tools. */
  readonly jsonBesideTools: boolean
  /** Refuses calls of tools in the history without a `thoughtSignature`. */
  readonly wantsSignatures: boolean
  /** Takes `systemInstruction`; Gemma up to 3 does not (its model card). */
  readonly systemInstruction: boolean
}

interface FeatureRow extends NamedRow, GeminiFeatures {}

const none: GeminiFeatures = {
  jsonSchema: false,
  jsonBesideTools: false,
  wantsSignatures: false,
  systemInstruction: true,
}
const all: GeminiFeatures = { ...none, jsonSchema: true, jsonBesideTools: true, wantsSignatures: true }
const guide = (page: string): Source => ({ url: `https://ai.google.dev/gemini-api/docs/${page}`, readOn: '2026-11-23' })

const featureRows: readonly FeatureRow[] = [
  { pattern: /gemma-[123]/, source: guide('gemma'), ...none, systemInstruction: false },
  { pattern: /gemini-2\.5/, source: guide('structured-output'), ...none, jsonSchema: true },
  { pattern: /gemini-[3-9]|gemini-(?:pro|flash|flash-lite)-latest/, source: guide('thought-signatures'), ...all },
]

/** `name` with or without `models/` before it. An unknown name gets the format that all models take. */
export function geminiFeatures(name: string): GeminiFeatures {
  return rowFor(featureRows, name) ?? none
}

/** Of a Gemini newer than the table the levels are sent that all newer ones take. */
const unknownGemini: GeminiThinking = fromLow

/** `name` with or without `models/` before it. Other models (Gemma) take no configuration. */
export function geminiThinking(name: string): GeminiThinking {
  return knownGeminiThinking(name) ?? (/gemini-[4-9]/i.test(name) ? unknownGemini : { by: 'nothing' })
}

/** How a Gemini of the table thinks, for what is sent as the client wrote it; undefined = nothing is known of it. */
export function knownGeminiThinking(name: string): GeminiThinking | undefined {
  return rowFor(rows, name)?.thinking
}

/**
 * Tokens of `thinkingBudget` by the effort; up to `high` the budgets of Google's OpenAI-compatible API
 * (https://ai.google.dev/gemini-api/docs/openai, 2026-11-23).
 */
export const geminiBudgets = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
} as const satisfies EffortBudgets

/** Tokens that models with levels take for the older `thinkingBudget`. */
export const levelModelBudget = { min: 128, max: 24_576 } as const

/** Every row, for tests. */
export const geminiRows = [...rows, ...featureRows]
/** How they think, for the page of the rules. */
export const geminiThinkingRows: readonly GeminiRow[] = rows

/** Which addresses a host of Gemini fetches, beside those of Google's own storage. */
export interface GeminiFetch {
  readonly source: Source
  readonly pattern: RegExp
  /** The models that fetch none. */
  readonly except?: RegExp
  /** The types that it fetches; absent = all that its models read. */
  readonly mediaTypes?: ReadonlySet<string>
  /** The type has to be said with each address. */
  readonly wantsType?: true
}

/** By the name of the provider. */
export const geminiFetches: Readonly<Record<string, GeminiFetch>> = {
  // `supportedUrls` of @ai-sdk/google 3.0.141: the types of ai.google.dev/gemini-api/docs/file-input-methods.
  gemini: {
    source: { url: 'https://github.com/vercel/ai/pull/16757', readOn: '2026-11-29' },
    pattern: /^https:\/\//i,
    except: /gemini-(?:1|2\.0)|gemini-pro(?:-vision)?$|gemma/,
    mediaTypes: new Set([
      ...['text/html', 'text/css', 'text/plain', 'text/xml', 'text/csv', 'text/rtf', 'text/javascript'],
      ...['application/json', 'application/pdf', 'image/bmp', 'image/jpeg', 'image/png', 'image/webp'],
      ...['video/mp4', 'video/mpeg', 'video/quicktime', 'video/avi', 'video/x-flv', 'video/mpg', 'video/webm'],
      ...['video/wmv', 'video/3gpp'],
    ]),
  },
  // `mime_type` of `FileData` is required there (reference of google-cloud-ai_platform-v1 1.9.0).
  vertex_ai: {
    source: { url: 'https://www.npmjs.com/package/@ai-sdk/google-vertex/v/4.0.208', readOn: '2026-11-29' },
    pattern: /^https?:\/\//i,
    wantsType: true,
  },
}

/** undefined = the host, or its model, fetches none. */
export function geminiFetch(host: string, model: string): GeminiFetch | undefined {
  const row = Object.hasOwn(geminiFetches, host) ? geminiFetches[host] : undefined
  return row?.except?.test(model.toLowerCase()) ? undefined : row
}

/** What a host of Gemini refuses of `generateContent` although Google AI takes it. */
export interface GeminiHostRule {
  readonly source: Source
  /** A turn of `contents` without `parts`. */
  readonly emptyTurns: false
}

/** By the name of the provider. */
export const geminiHostRules: Readonly<Record<string, GeminiHostRule>> = {
  vertex_ai: {
    source: { url: 'https://github.com/cloudwego/eino/issues/383', readOn: '2026-11-29' },
    emptyTurns: false,
  },
}
