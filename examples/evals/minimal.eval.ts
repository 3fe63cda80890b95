import { defineEval } from "dure/team";

export default defineEval({
  service: "minimal",
  repeat: 2,
  cases: [
    {
      name: "says back what it heard",
      turns: [{ say: "비가 와요" }, { say: "내일도요?" }],
      expect: {
        says: "내일도요?",
        check: (_turn, turns) =>
          turns.length === 2 ? undefined : `the conversation has ${turns.length} turns`,
      },
    },
  ],
});
