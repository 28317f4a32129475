import type { Migration } from '../migration.ts'

/**
 * What calls use beside plain tokens, so that every cost can be checked from its row. Null = not counted, as in all rows
 * from before. Counts are integers, but for search units, which vendors may report as fractions.
 */
export const fifth: Migration = {
  id: 5,
  name: 'ledger-units',
  async up(sql) {
    const counts = [
      'cache_write_one_hour_tokens',
      'input_audio_tokens',
      'output_audio_tokens',
      'input_image_tokens',
      'output_image_tokens',
      'images',
      'audio_microseconds',
      'characters',
    ]
    // Without a default both databases add a column at once, however many rows there are.
    for (const name of counts) await sql.unsafe(`alter table ledger add column ${name} bigint`)
    await sql.unsafe(`alter table ledger add column search_units double precision`)
  },
}
