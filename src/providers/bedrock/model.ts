/**
 * The features of a model on Bedrock, by its id: Converse has one format for all models, but refuses features that a
 * model lacks.
 * Sources: docs.aws.amazon.com/bedrock, "Supported models and model features", "ToolChoice", "Prompt caching".
 */
import { claudeRule } from '../../../rules/claude.ts'
import type { ClaudeRule } from '../../../rules/claude.ts'
import { bedrockReasoning } from '../../../rules/bedrock.ts'
import type { BedrockReasoning } from '../../../rules/bedrock.ts'

type Family = 'claude' | 'nova' | 'mistral' | 'cohere' | 'gpt-oss' | 'other' | 'hidden'

/** Derived from the id alone, without a call to AWS. */
export interface BedrockModel {
  /** `hidden` = an ARN that does not name the model: all features are assumed, and the service decides. */
  readonly family: Family
  /** Of Claude alone. */
  readonly claude?: ClaudeRule
  /** Of models other than Claude; absent = it takes no setting. */
  readonly reasoning?: BedrockReasoning
  /** Takes `system`. */
  readonly systemPrompt: boolean
  /** How a tool call can be forced: a named tool, any tool, or not at all. */
  readonly forces: 'tool' | 'any' | 'nothing'
  /** Where cache points are allowed, and whether their entries may live for an hour. */
  readonly caches: { readonly messages: boolean; readonly tools: boolean; readonly oneHour: boolean }
  /** A tool's result can be marked as an error. */
  readonly resultStatus: boolean
  /** Takes `outputConfig` ("Get validated JSON results from models"). */
  readonly jsonSchema: boolean
}

/** ARNs that do not name the model: application profiles, provisioned, imported and custom models, prompt routers. */
const hidden = /^arn:(?!.*(?:foundation-model\/|:inference-profile\/))/
const noSystemPrompt = /amazon\.titan|mistral\.mistral-7b|mistral\.mixtral|cohere\.command-(?:text|light)|ai21\.j2/
/** Open-weight models for which AWS documents structured output. */
const schemaModels = new RegExp(
  'openai\\.gpt-oss|qwen\\.qwen3|google\\.gemma-3|nvidia\\.nemotron|minimax\\.|moonshot|deepseek\\.v3|' +
    'mistral\\.(?:ministral|magistral|voxtral|mistral-large-3)',
)

/** `id` is a model id, the id of an inference profile (`us.anthropic...`) or an ARN. */
export function bedrockModel(id: string): BedrockModel {
  const family = familyOf(id)
  const isHidden = family === 'hidden'
  const isClaude = family === 'claude'
  const claude = isClaude ? claudeRule(id) : undefined
  const reasoning = isHidden ? undefined : bedrockReasoning(id)
  // Has structured output and cache entries of an hour.
  const modern = claude?.outputSchema === true
  const callsTools = isHidden || family === 'nova' || claude?.tools === true
  const forcesTool = callsTools && claude?.forcedTools !== 'never'
  return {
    family,
    ...(claude && { claude }),
    ...(reasoning && { reasoning }),
    systemPrompt: !noSystemPrompt.test(id),
    forces: forcesTool ? 'tool' : family === 'mistral' ? 'any' : 'nothing',
    caches: { messages: callsTools, tools: isHidden || isClaude, oneHour: isHidden || modern },
    resultStatus: callsTools,
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
