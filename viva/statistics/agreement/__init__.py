"""How far raters agree: people among themselves, a judge with people. Pure functions of tables of labels with gaps."""
