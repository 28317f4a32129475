/** Column `object_permission`: which tools an object of the tenants may use, in JSON; null = it says nothing. */

/** Adds the column to every table whose objects have it. */
export const addToolPermissions: readonly string[] = ['virtual_keys', 'organizations', 'teams', 'users'].map(
  table => `alter table ${table} add column object_permission text`,
)
