/**
 * How LiteLLM's list of models names providers and models (`litellm_provider`, and the keys of its entries, at version
 * 1.109.1, 2026-11).
 */
import { listName } from './model-names.ts'

/** The `litellm_provider` of each of our providers that has another name there, or several. */
const providerPatterns: Readonly<Record<string, RegExp>> = {
  openai: /^(?:text-completion-)?openai$/,
  vertex_ai: /^vertex_ai(?:-.*)?$/,
  bedrock: /^bedrock(?:_converse)?$/,
  azure: /^azure(?:_text)?$/,
  cohere: /^cohere(?:_chat)?$/,
  fireworks_ai: /^fireworks_ai(?:-embedding-models)?$/,
  ai21_chat: /^ai21(?:_chat)?$/,
  inception: /^(?:text-completion-)?inception$/,
  meta_llama: /^meta(?:_llama)?$/,
}

/** Whether `litellm_provider` of an entry means this provider of ours. */
export function isListedAs(provider: string, word: string): boolean {
  return word === provider || (Object.hasOwn(providerPatterns, provider) && providerPatterns[provider]!.test(word))
}

/** The name (as of `listName`) of an entry with this key. */
export const nameOfKey = (provider: string, key: string, word: string): string =>
  listName(writtenName(provider, key, word))

/** The same as the list writes it, which is what the vendor calls it: keys begin with the provider, or with nothing. */
export function writtenName(provider: string, key: string, word: string): string {
  const prefixes = [provider, word, word.split('-')[0]!, 'ai21', 'meta']
  const prefix = prefixes.find(one => one !== '' && key.startsWith(`${one}/`))
  return prefix === undefined ? key : key.slice(prefix.length + 1)
}

/** Keys of entries for a commitment, or for one size and quality of a picture: they name no model. */
export const isPartOfModel = (key: string): boolean =>
  /\d-month-commitment|^(?:\d+-x-\d+|hd|standard|low|medium|high|auto)\/|\/\d+-x-\d+\//.test(key)

/**
 * Whether the prices of an entry are the fee of a router, beside those of the model that it chooses (Azure, "Model
 * router", learn.microsoft.com/azure/foundry/openai/concepts/model-router-faq, 2026-11).
 */
export function isRouter(provider: string, name: string): boolean {
  return provider.startsWith('azure') && /^model[-_]router(?:$|[-/])/.test(name)
}

/** Modes of the list that are other words for one of ours. */
export const listedModes: Readonly<Record<string, string>> = {
  chat: 'chat',
  responses: 'chat',
  completion: 'completion',
  embedding: 'embedding',
  image_generation: 'image_generation',
  image_edit: 'image_generation',
  audio_transcription: 'audio_transcription',
  audio_speech: 'audio_speech',
  rerank: 'rerank',
  moderation: 'moderation',
}
