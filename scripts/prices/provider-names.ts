/** Our providers, and where each of the three lists has their models. */

/** Absent = the list does not have the provider. */
interface ListNames {
  /** Ids in genai-prices. */
  readonly genai?: string
  /** Whether LiteLLM's list has it (under the names of `isListedAs`). */
  readonly litellm?: true
  /** Ids in model-prices. */
  readonly modelPrices?: string
}

/** Hosts of the operator, aggregators without list prices of their own and the built-in models are not here. */
export const listedProviders: Readonly<Record<string, ListNames>> = {
  openai: { genai: 'openai', litellm: true, modelPrices: 'openai' },
  anthropic: { genai: 'anthropic', litellm: true, modelPrices: 'anthropic' },
  gemini: { genai: 'google', litellm: true, modelPrices: 'google' },
  vertex_ai: { litellm: true },
  bedrock: { genai: 'aws', litellm: true, modelPrices: 'amazon-bedrock' },
  azure: { genai: 'azure', litellm: true },
  azure_ai: { litellm: true },
  cohere: { genai: 'cohere', litellm: true, modelPrices: 'cohere' },
  mistral: { genai: 'mistral', litellm: true, modelPrices: 'mistral' },
  groq: { genai: 'groq', litellm: true },
  deepseek: { genai: 'deepseek', litellm: true, modelPrices: 'deepseek' },
  xai: { genai: 'x-ai', litellm: true, modelPrices: 'xai' },
  openrouter: { genai: 'openrouter', litellm: true },
  together_ai: { genai: 'together', litellm: true },
  fireworks_ai: { genai: 'fireworks', litellm: true },
  perplexity: { genai: 'perplexity', litellm: true, modelPrices: 'perplexity' },
  cerebras: { genai: 'cerebras', litellm: true },
  sambanova: { genai: 'huggingface_sambanova', litellm: true },
  nvidia_nim: { litellm: true },
  deepinfra: { litellm: true },
  hyperbolic: { litellm: true },
  novita: { genai: 'novita', litellm: true },
  nebius: { litellm: true },
  moonshot: { genai: 'moonshotai', litellm: true, modelPrices: 'moonshotai' },
  zai: { genai: 'zai', litellm: true, modelPrices: 'zai' },
  dashscope: { litellm: true, modelPrices: 'alibaba' },
  minimax: { genai: 'minimax', litellm: true, modelPrices: 'minimax' },
  volcengine: { litellm: true },
  baseten: { genai: 'baseten', litellm: true },
  featherless_ai: { litellm: true },
  friendliai: { litellm: true },
  vercel_ai_gateway: { litellm: true },
  ai21_chat: { litellm: true, modelPrices: 'ai21' },
  inception: { litellm: true, modelPrices: 'inception' },
  morph: { litellm: true },
  scaleway: { litellm: true },
  stepfun: { modelPrices: 'stepfun-ai' },
  upstage: { modelPrices: 'upstage' },
  lambda_ai: { litellm: true },
  meta_llama: { genai: 'meta', litellm: true, modelPrices: 'meta' },
  jina_ai: { litellm: true },
  voyage: { genai: 'voyageai', litellm: true },
}

/** Providers whose models are also looked up, by their whole names, at the vendors that the host resells. */
export const fallbackProviders: Readonly<Record<string, readonly string[]>> = {
  // genai-prices gives these for Azure and for Google.
  azure: ['openai'],
  azure_ai: ['azure', 'openai', 'anthropic', 'deepseek', 'xai', 'moonshot'],
  vertex_ai: ['gemini', 'anthropic'],
  text_completion_openai: ['openai'],
}
