/**
 * What a model of Bedrock takes, by its id: Converse has one form for all, but refuses what a model lacks.
 * Sources: docs.aws.amazon.com/bedrock, "Supported models and model features", "ToolChoice", "Prompt caching".
 */
import { claudeVersion, firstWithSchema } from '../anthropic/model.ts'

type Family = 'claude' | 'nova' | 'mistral' | 'cohere' | 'gpt-oss' | 'other' | 'hidden'

/** Read from the id alone: nobody is asked. */
export interface BedrockModel {
  /** `hidden` = an ARN that does not say what is behind it: everything is sent, and the service judges. */
  readonly family: Family
  /** Of Claude, 405 = 4.5; of Nova, 100 or 200. A name without a readable version is the newest. */
  readonly version: number
  /** Instructions apart from the conversation. */
  readonly systemPrompt: boolean
  /** How a tool call can be forced: a certain tool, any tool, not at all. */
  readonly forces: 'tool' | 'any' | 'nothing'
  /** Where cache points may stand. */
  readonly caches: { readonly messages: boolean; readonly tools: boolean; readonly oneHour: boolean }
  /** A tool's result can be marked as an error. */
  readonly resultStatus: boolean
  /** Takes `outputConfig` ("Get validated JSON results from models"). */
  readonly jsonSchema: boolean
}

/** ARNs of things whose model only the account knows: profiles, provisioned, imported, tuned models, routers. */
const hidden = /^arn:(?!.*(?:foundation-model\/|:inference-profile\/))/
const noSystemPrompt = /amazon\.titan|mistral\.mistral-7b|mistral\.mixtral|cohere\.command-(?:text|light)|ai21\.j2/
/** Open weights for which AWS documents structured output. */
const schemaModels =
  /openai\.gpt-oss|qwen\.qwen3|google\.gemma-3|nvidia\.nemotron|minimax\.|moonshot|deepseek\.v3|mistral\.(?:ministral|magistral|voxtral|mistral-large-3)/

/** `id` is a model id, the id of an inference profile (`us.anthropic...`) or an ARN. */
export function bedrockModel(id: string): BedrockModel {
  const family = familyOf(id)
  const version = family === 'claude' ? claudeVersion(id) : /nova-(?:pro|lite|micro|premier)/.test(id) ? 100 : 200
  const isHidden = family === 'hidden'
  const isClaude = family === 'claude'
  // Structured output, and cache entries that live for an hour.
  const modern = isClaude && version >= firstWithSchema
  const forcesTool = isHidden || family === 'nova' || (isClaude && version >= 300)
  return {
    family,
    version,
    systemPrompt: !noSystemPrompt.test(id),
    forces: forcesTool ? 'tool' : family === 'mistral' ? 'any' : 'nothing',
    caches: { messages: forcesTool, tools: isHidden || isClaude, oneHour: isHidden || modern },
    resultStatus: forcesTool,
    jsonSchema: isHidden || modern || schemaModels.test(id),
  }
}

function familyOf(id: string): Family {
  if (id.includes('anthropic.claude')) return 'claude'
  if (id.includes('amazon.nova')) return 'nova'
  if (id.includes('mistral.')) return 'mistral'
  if (id.includes('cohere.')) return 'cohere'
  if (id.includes('openai.gpt-oss')) return 'gpt-oss'
  return hidden.test(id) ? 'hidden' : 'other'
}
