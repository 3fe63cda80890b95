/** Files of a place go with the message that carries them. */
export const sql = /* sql */ `
create function dure.forget_message_files() returns trigger language plpgsql as $$
begin
  return null;
end $$;
create trigger room_messages_files after delete on dure.room_messages
  referencing old table as gone
  for each statement execute function dure.forget_message_files();
`;
