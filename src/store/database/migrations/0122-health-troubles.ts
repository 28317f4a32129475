import type { Migration } from '../migration.ts'

/** Which replicas have a trouble, while Redis is away; the row without a replica = the operator was told. */
export const hundredTwentySecond: Migration = {
  id: 122,
  name: 'health-troubles',
  async up(sql) {
    await sql.unsafe(`
      create table health_troubles (
        trouble text not null,
        replica text not null,
        seen_ms bigint not null,
        primary key (trouble, replica)
      )`)
  },
}
