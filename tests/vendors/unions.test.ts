/**
 * Fails when a vendor's package names something that is not handled: a finish reason, an event, a part, or a model
 * without a price. An update of a package that brings one needs a decision about its meaning, here or in the tables.
 */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogPrices } from '../../src/config/prices/prices.ts'
import {
  cohereFinishReasons,
  geminiFinishReason,
  geminiFinishReasons,
  messagesFinishReasons,
  openaiFinishReasons,
  responsesFinishReasons,
} from '../../src/core/dialects/finish-reasons.ts'
import type { FinishReasonTable } from '../../src/core/dialects/finish-reasons.ts'
import { membersOf } from './unions.ts'
import type { UnionName } from './unions.ts'

const finishes: readonly (readonly [UnionName, FinishReasonTable])[] = [
  ['OpenaiFinish', openaiFinishReasons],
  ['GroqFinish', openaiFinishReasons],
  ['MistralFinish', openaiFinishReasons],
  ['ResponsesIncomplete', responsesFinishReasons],
  ['AnthropicFinish', messagesFinishReasons],
  ['CohereFinish', cohereFinishReasons],
  ['GeminiFinish', geminiFinishReasons],
]

test.each(finishes)(
  'every word of %s has a meaning',
  (union, words) => {
    const members = membersOf(union).filter(word => geminiFinishReason({ finishReason: word }) !== '')
    expect(members.filter(word => !words.has(word))).toEqual([])
    // The first case reads all declarations of the vendors' packages.
  },
  60_000,
)

/** What a reader of streams passes over: it repeats what came before, or tells of the vendor's own tools. */
interface Read {
  readonly union: UnionName
  /** The file that has a case for each other member. */
  readonly reader: string
  readonly passedOver: RegExp
}

const events: readonly Read[] = [
  {
    union: 'ResponsesEvent',
    reader: 'openai-compatible/responses/read.ts',
    passedOver: new RegExp(
      '^response\\.(?:created|queued|in_progress|content_part\\..+|output_text\\.done|refusal\\.done|' +
        'reasoning_text\\.done|reasoning_summary_(?:text|part)\\.done|function_call_arguments\\.done|' +
        'custom_tool_call_input\\.done|audio\\..+|compaction\\.compacting|' +
        '(?:code_interpreter|file_search|shell|web_search|image_generation|mcp)_call.*|mcp_list_tools\\..+)$',
    ),
  },
  { union: 'AnthropicEvent', reader: 'anthropic/read.ts', passedOver: /^message_stop$/ },
  // The summary of a compaction is for the next request of the client that asked for it.
  { union: 'AnthropicDelta', reader: 'anthropic/read.ts', passedOver: /^compaction_delta$/ },
  {
    union: 'AnthropicBlock',
    reader: 'anthropic/read.ts',
    passedOver:
      /^(?:server_tool_use|mcp_tool_use|mcp_tool_listing|compaction|fallback|container_upload|.+_tool_result)$/,
  },
  { union: 'CohereEvent', reader: 'cohere/read.ts', passedOver: /^(?:content-end|citation-end|debug)$/ },
  {
    union: 'GeminiPart',
    reader: 'gemini/read.ts',
    // Of tools that Google ran, of input, and of how a part was made.
    passedOver:
      /^(?:toolCall|toolResponse|functionResponse|audioTranscription|videoMetadata|(?:part|speech)Metadata|media.+)$/,
  },
]

test.each(events)('every member of $union is read, or passed over by intent', ({ union, reader, passedOver }) => {
  const text = readFileSync(join(import.meta.dir, '..', '..', 'src', 'providers', reader), 'utf8')
  const isRead = (member: string): boolean => text.includes(`'${member}'`) || text.includes(`part.${member}`)
  const members = membersOf(union)
  expect(members.filter(member => !isRead(member) && !passedOver.test(member))).toEqual([])
})

/** Models whose price no public list knows: access is given on request, or they are retired. */
const unpriced: readonly RegExp[] = [
  /^gpt-6\.1-(?:sol|terra)$/,
  /^gpt-(?:daybreak|rosalind)-/,
  /^gpt-[\d.]+-(?:cyber|rosalind)$/,
  /^claude-mythos-/,
  /^claude-(?:fable-5-2|haiku-5-5)$/,
  /^compound-beta/,
  /^qwen\/qwen3\.[68]-27b$/,
]

describe('models', () => {
  test.each([
    ['openai', 'OpenaiModel'],
    ['anthropic', 'AnthropicModel'],
    ['groq', 'GroqModel'],
  ] as const)('every model that the package of %s names has a price', (provider, union) => {
    const isKnown = (model: string): boolean => unpriced.some(one => one.test(model))
    const unknown = membersOf(union).filter(model => catalogPrices(provider, model) === null && !isKnown(model))
    expect(unknown).toEqual([])
  })
})
