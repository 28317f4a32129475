/** Turns one row of the catalogue into a provider. */
import { headOf, memoizePerTarget } from '../../core/target-cache.ts'
import { newestChatFields } from '../../core/hub/chat-fields.ts'
import type { FieldRules } from '../../core/dialects/field-rules.ts'
import type { ChatAdapter, Dialect, MakeHead, Provider, Target } from '../../core/provider.ts'
import { hostRule } from '../../../rules/hosts.ts'
import { neverReasons, openaiRule } from '../../../rules/openai.ts'
import { embeddingsAdapter } from './embeddings.ts'
import { compatibleHead, headAt } from './head.ts'
import type { CompatibleDialect } from './head.ts'
import { chatReader, chatResult, isDone } from './read.ts'
import {
  chatFieldRules,
  quirkRules,
  responsesFieldRules,
  withoutAllowedTools,
  withoutReasoning,
} from './field-rules.ts'
import { chatBody } from './request.ts'
import type { ChatHost } from './request.ts'
import { chatByResponses } from './responses/index.ts'
import { rerankAdapter } from './rerank.ts'
import type { CompatibleRow } from './row.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

/** Under other addresses a name of OpenAI's may be another vendor's model. */
const openaiBaseUrl = 'https://api.openai.com/v1'

/**
 * The provider of a catalogue row; `name` = the row's key. Dialects of the row are forwarded; the adapters serve
 * clients of other dialects and calls that cannot be forwarded unchanged.
 */
export function openaiCompatible(name: string, row: CompatibleRow): Provider {
  const ruleOf = row.baseUrl === openaiBaseUrl ? openaiRule : (model: string) => hostRule(name, model)
  // OpenAI's newest fields are OpenAI's alone.
  const withTools = (own: FieldRules): FieldRules => (row.newestParams ? own : withoutAllowedTools(own))
  const chatRules = memoizePerTarget(target =>
    withSignatures(withTools(chatFieldRules(ruleOf(target.model), row.quirks)), target),
  )
  const responsesRules = memoizePerTarget(target => {
    const { model } = target
    const compiled = withSignatures(withTools(responsesFieldRules(ruleOf(model), row.quirks)), target)
    return row.baseUrl === openaiBaseUrl && neverReasons(model) ? withoutReasoning(compiled) : compiled
  })
  const otherRules = quirkRules(row.quirks)
  const rules = (target: Target, dialect: Dialect): FieldRules => {
    if (dialect === 'openai-chat') return chatRules(target)
    return dialect === 'openai-responses' ? responsesRules(target) : otherRules
  }
  return {
    name,
    ...(row.baseUrl !== undefined && { defaultBaseUrl: row.baseUrl }),
    apiKeyEnv: row.apiKeyEnv,
    ...(row.ownNames && { ownNames: row.ownNames }),
    ...(row.callersCredentials && { callersCredentials: row.callersCredentials }),
    ...(row.keyless && { keyless: true }),
    speaks: Object.fromEntries(forwardedDialects(row).map(dialect => [dialect, headMaker(dialect)])),
    ...(!row.moderations && {
      speaksByMode: { moderation: { 'openai-moderations': headMaker('openai-moderations') } },
    }),
    ...(row.responsesModels && {
      forwards: ({ model }, dialect) => dialect !== 'openai-responses' || !(model in row.responsesModels!),
    }),
    rules,
    takesFormatBesideTools: ({ model }) => ruleOf(model)?.formatBesideTools !== false,
    ...(row.maxTokensField && { maxTokensField: row.maxTokensField }),
    ...(row.chat !== false && { chat: chatAdapter({ ...row, rules: chatRules }, headMaker('openai-chat')) }),
    ...(row.honours && { honours: row.honours }),
    ...(row.reportsCost && { reportsCost: true }),
    ...(row.chat !== false && {
      chatByResponses: chatByResponses({
        head: headMaker('openai-responses'),
        rules: responsesRules,
        ...(row.responsesModels && { fields: ({ model }: Target) => row.responsesModels![model] }),
        ...(row.newestParams && { textTools: true }),
      }),
    }),
    ...(row.newestParams && { textTools: true }),
    ...(row.baseUrl === openaiBaseUrl && {
      compacts: ({ baseUrl }, dialect) => dialect === 'openai-responses' && isOpenai(baseUrl),
    }),
    ...(row.embeddings !== false && {
      embeddings: embeddingsAdapter(headMaker('openai-embeddings'), { ...row, rules: otherRules }),
    }),
    ...(row.embeddings === 'plain' && { embedsTextOnly: true }),
    ...(row.rerank && { rerank: rerankAdapter(headMaker('jina-rerank'), row.rerank) }),
    ...(row.files && { files: { head: headAt } }),
    ...(row.newestParams && { chatExtras: newestChatFields }),
  }
}

/** Under the provider's name there may be another host that speaks its dialects. */
const isOpenai = (baseUrl: string): boolean => /^https:\/\/([a-z]+\.)?api\.openai\.com(\/|$)/.test(baseUrl)

/** Google's own chat completions, and gateways that name their models as Google does. */
function withSignatures(rules: FieldRules, { model, baseUrl }: Target): FieldRules {
  return /gemini/i.test(model) || /^https:\/\/[^/]*\.googleapis\.com\//.test(`${baseUrl}/`)
    ? { ...rules, readsCallSignatures: true }
    : rules
}

/** Chat in OpenAI's words, for clients of other dialects. */
export function chatAdapter(host: ChatHost, head: MakeHead): ChatAdapter {
  return {
    request: (request, target) => ({ head: headOf(target, head, request.stream), ...chatBody(request, target, host) }),
    argumentNames: argumentNames.chat,
    result: chatResult,
    reader: chatReader,
    isLast: isDone,
  }
}

function headMaker(dialect: CompatibleDialect): MakeHead {
  return (target: Target) => compatibleHead(target, dialect)
}

/** The dialects that the host takes without translation. */
function forwardedDialects(row: CompatibleRow): CompatibleDialect[] {
  const all = {
    'openai-chat': row.chat !== false,
    'openai-completions': row.completions,
    'openai-embeddings': row.embeddings !== false && row.embeddings !== 'plain',
    'openai-responses': row.responses,
    'openai-moderations': row.moderations,
    'openai-images': row.images,
    'openai-image-edits': row.imageEdits,
    'openai-image-variations': row.imageVariations,
    'openai-speech': row.speech,
    'openai-transcriptions': row.transcriptions,
    'openai-translations': row.translations,
    'jina-rerank': row.rerank === 'jina',
  } satisfies Partial<Record<Dialect, boolean | undefined>>
  return (Object.keys(all) as CompatibleDialect[]).filter(dialect => all[dialect])
}
