/** Every price key of LiteLLM's list at version 1.109.1: it works, or a warning names it, and none stops the start. */
import { expect, test } from 'bun:test'
import { providers } from '../../providers/index.ts'
import { readSettings } from '../read-settings.ts'

const listed = `
annotation_cost_per_page annotation_cost_per_page_batches cache_creation_input_audio_token_cost
cache_creation_input_token_cost cache_creation_input_token_cost_above_100k_tokens
cache_creation_input_token_cost_above_100k_tokens_batches cache_creation_input_token_cost_above_12hr
cache_creation_input_token_cost_above_12hr_above_272k_tokens
cache_creation_input_token_cost_above_12hr_above_272k_tokens_batches
cache_creation_input_token_cost_above_12hr_above_272k_tokens_flex
cache_creation_input_token_cost_above_12hr_above_272k_tokens_priority
cache_creation_input_token_cost_above_12hr_above_272k_tokens_ultrafast
cache_creation_input_token_cost_above_12hr_batches cache_creation_input_token_cost_above_12hr_flex
cache_creation_input_token_cost_above_12hr_priority cache_creation_input_token_cost_above_12hr_ultrafast
cache_creation_input_token_cost_above_1hr cache_creation_input_token_cost_above_1hr_above_100k_tokens
cache_creation_input_token_cost_above_1hr_above_200k_tokens cache_creation_input_token_cost_above_200k_tokens
cache_creation_input_token_cost_above_272k_tokens cache_creation_input_token_cost_above_272k_tokens_batches
cache_creation_input_token_cost_above_272k_tokens_decisions cache_creation_input_token_cost_above_272k_tokens_flex
cache_creation_input_token_cost_above_272k_tokens_priority cache_creation_input_token_cost_above_272k_tokens_ultrafast
cache_creation_input_token_cost_batches cache_creation_input_token_cost_decisions cache_creation_input_token_cost_flex
cache_creation_input_token_cost_priority cache_creation_input_token_cost_ultrafast cache_read_input_audio_token_cost
cache_read_input_audio_token_cost_batches cache_read_input_audio_token_cost_flex
cache_read_input_audio_token_cost_priority cache_read_input_image_token_cost cache_read_input_token_cost
cache_read_input_token_cost_above_100k_tokens cache_read_input_token_cost_above_100k_tokens_batches
cache_read_input_token_cost_above_200k_tokens cache_read_input_token_cost_above_200k_tokens_batches
cache_read_input_token_cost_above_200k_tokens_priority cache_read_input_token_cost_above_272k_tokens
cache_read_input_token_cost_above_272k_tokens_batches cache_read_input_token_cost_above_272k_tokens_decisions
cache_read_input_token_cost_above_272k_tokens_flex cache_read_input_token_cost_above_272k_tokens_priority
cache_read_input_token_cost_above_272k_tokens_ultrafast cache_read_input_token_cost_above_512k_tokens
cache_read_input_token_cost_balanced cache_read_input_token_cost_batches cache_read_input_token_cost_decisions
cache_read_input_token_cost_flex cache_read_input_token_cost_priority cache_read_input_token_cost_ultrafast
citation_cost_per_token code_interpreter_cost_per_session cost_per_second explicit_cache_read_input_token_cost
google_maps_grounding_cost_per_query input_cost_per_audio_per_second input_cost_per_audio_per_second_above_128k_tokens
input_cost_per_audio_token input_cost_per_audio_token_batches input_cost_per_audio_token_flex
input_cost_per_audio_token_priority input_cost_per_character input_cost_per_character_above_128k_tokens
input_cost_per_image input_cost_per_image_above_128k_tokens input_cost_per_image_token
input_cost_per_image_token_batches input_cost_per_pixel input_cost_per_query input_cost_per_request
input_cost_per_second input_cost_per_text_message input_cost_per_token input_cost_per_token_above_100k_tokens
input_cost_per_token_above_100k_tokens_batches input_cost_per_token_above_128k_tokens
input_cost_per_token_above_200k_tokens input_cost_per_token_above_200k_tokens_batches
input_cost_per_token_above_200k_tokens_priority input_cost_per_token_above_256k_tokens
input_cost_per_token_above_272k_tokens input_cost_per_token_above_272k_tokens_batches
input_cost_per_token_above_272k_tokens_decisions input_cost_per_token_above_272k_tokens_flex
input_cost_per_token_above_272k_tokens_priority input_cost_per_token_above_272k_tokens_ultrafast
input_cost_per_token_above_32k_tokens input_cost_per_token_above_512k_tokens input_cost_per_token_balanced
input_cost_per_token_batches input_cost_per_token_cache_hit input_cost_per_token_decisions input_cost_per_token_flex
input_cost_per_token_priority input_cost_per_token_ultrafast input_cost_per_video_per_second
input_cost_per_video_per_second_above_128k_tokens input_cost_per_video_per_second_above_15s_interval
input_cost_per_video_per_second_above_8s_interval input_cost_per_video_token input_cost_per_video_token_batches
input_dbu_cost_per_token ocr_cost_per_credit ocr_cost_per_page ocr_cost_per_page_batches output_cost_per_audio_token
output_cost_per_character output_cost_per_character_above_128k_tokens output_cost_per_image output_cost_per_image_0.5K
output_cost_per_image_1024 output_cost_per_image_1536 output_cost_per_image_1K output_cost_per_image_2K
output_cost_per_image_4K output_cost_per_image_512 output_cost_per_image_token output_cost_per_image_token_batches
output_cost_per_pixel output_cost_per_reasoning_token output_cost_per_second output_cost_per_second_1080p
output_cost_per_second_2k output_cost_per_second_480p output_cost_per_second_4k output_cost_per_second_720p
output_cost_per_second_768p output_cost_per_token output_cost_per_token_above_100k_tokens
output_cost_per_token_above_100k_tokens_batches output_cost_per_token_above_128k_tokens
output_cost_per_token_above_200k_tokens output_cost_per_token_above_200k_tokens_batches
output_cost_per_token_above_200k_tokens_priority output_cost_per_token_above_256k_tokens
output_cost_per_token_above_272k_tokens output_cost_per_token_above_272k_tokens_batches
output_cost_per_token_above_272k_tokens_decisions output_cost_per_token_above_272k_tokens_flex
output_cost_per_token_above_272k_tokens_priority output_cost_per_token_above_272k_tokens_ultrafast
output_cost_per_token_above_32k_tokens output_cost_per_token_above_512k_tokens output_cost_per_token_balanced
output_cost_per_token_batches output_cost_per_token_decisions output_cost_per_token_flex
output_cost_per_token_priority output_cost_per_token_ultrafast output_cost_per_video_per_second
output_cost_per_video_token output_dbu_cost_per_token regional_endpoint_uplift_multiplier
regional_processing_uplift_multiplier_eu regional_processing_uplift_multiplier_us`
  .trim()
  .split(/\s+/)

/** Of one deployment for each of `prices`. */
const read = (mode: string, section: string, ...prices: readonly object[]) =>
  readSettings({
    text: JSON.stringify({
      model_list: prices.map((price, at) => ({
        model_name: `m${at}`,
        litellm_params: { model: 'groq/x', api_key: 'k', ...(section === 'litellm_params' && price) },
        model_info: { mode, ...(section === 'model_info' && price) },
      })),
    }),
    environment: {},
    providers,
  })

test.each(['litellm_params', 'model_info'])('in %s', section => {
  const silent: string[] = []
  for (const mode of ['chat', 'audio_speech', 'audio_transcription', 'image_generation']) {
    const entries = listed.map(key => ({ [key]: key.includes('uplift') ? '1.1' : '1e-06' }))
    const { settings, mistakes, warnings } = read(mode, section, ...entries)
    expect(mistakes).toEqual([])
    for (const [at, key] of listed.entries()) {
      const { prices } = settings!.deployments[at]!
      const isWarned = warnings.some(text => text.includes(`.${at}.${section}.${key}: has no effect here`))
      if ((prices === null) !== isWarned) silent.push(`${key} of a model for ${mode}`)
    }
  }
  expect(silent).toEqual([])
})

test('prices in words, tiers and places that are no numbers', () => {
  const problems = (entry: object) => read('chat', 'litellm_params', entry).mistakes
  expect(problems({ output_cost_per_token_above_200k_tokens_priority: 'cheap' })).toEqual([
    expect.stringContaining(
      'output_cost_per_token_above_200k_tokens_priority: must be dollars for one, a number from 0 to 1; got "cheap"',
    ),
  ])
  expect(problems({ input_cost_per_token: -1 })[0]).toContain('must be dollars for one')
  expect(problems({ input_cost_per_token: null, output_cost_per_token: '0.5' })).toEqual([])
  expect(read('chat', 'litellm_params', { tiered_pricing: [{ price: 1 }] }).warnings).toContainEqual(
    expect.stringContaining('.tiered_pricing: has no effect here'),
  )
})
